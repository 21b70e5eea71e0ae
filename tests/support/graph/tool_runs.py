"""Call tools as an executor does: through the graph, with a recording that the test writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langchain_core.messages import ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from support.graph.graphs import ASKED, Journey, turn, verdict

from agents.calls.serializer import SERIALIZER
from agents.graph.build import build
from agents.graph.job_input import job_fields
from agents.state import JobFields
from agents.tools.registry import TOOLS, Body
from sandbox.protocol import Limits, Sandbox

JOB = job_fields("Use the tools.", steps=("Use them.",), max_revisions=1)


@dataclass(frozen=True)
class Used:
    """The result of the calls: the texts for the model, the events, the files."""

    texts: list[str]
    messages: list[ToolMessage]
    journey: Journey

    @property
    def runs(self) -> list[Mapping[str, Any]]:
        return self.journey.event_data("run_finished")

    @property
    def data(self) -> list[Mapping[str, Any]]:
        return self.journey.event_data("tool_used")

    async def files(self) -> dict[str, bytes]:
        return dict((await self.journey.ports.workspace.tree()).files)


async def use(
    folder: Path,
    sandbox: Sandbox,
    *replies: Mapping[str, Any] | list[Mapping[str, Any]],
    files: Mapping[str, bytes] | None = None,
    limits: Limits | None = None,
    tools: tuple[Body, ...] = (),
    **ports: Any,
) -> Used:
    """Let a model make these calls, one per reply; the calls of a list are in one reply. `tools`
    are offered in addition to the usual tools.
    """
    reply_calls = [reply if isinstance(reply, list) else [reply] for reply in replies]
    turns = [turn("executor", "", *calls, after=number) for number, calls in enumerate(reply_calls)]
    turns += [turn("executor", "", "Done.", after=len(reply_calls)), turn("executor", ASKED, "No.")]
    turns += [verdict("", "revise", "More.")]
    journey = Journey.plan(folder, turns, sandbox, files)
    journey.ports = journey.with_ports(limits=limits or Limits(), **ports)
    if tools:
        journey.graph = build(InMemorySaver(serde=SERIALIZER), (*TOOLS, *tools))
    return await used(journey, JOB)


async def used(journey: Journey, job: JobFields | None) -> Used:
    """Start the job, or continue it after a crash if `job` is None."""
    state = await (journey.begin(job) if job else journey.go_on())
    messages = [message for message in state["messages"] if isinstance(message, ToolMessage)]
    return Used([str(message.text) for message in messages], messages, journey)

"""Trace: what a tool call leaves besides its text. It is the artifact of the ToolMessage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NotRequired

from langchain_core.messages import BaseMessage, ToolMessage
from typing_extensions import TypedDict

from agents.graph.state import ArtifactFields, Run
from agents.paths import is_scratch
from agents.ports import Artifact
from agents.runs.record import RecordedRun

DIFF_KEPT = 16_000


class Trace(TypedDict):
    """The event of the call (`kind`, `data`), and the files that it made. `image` is the digest of
    an image that the model has asked for."""

    kind: str
    data: dict[str, Any]
    files: list[ArtifactFields]
    image: NotRequired[str]


def of_run(ran: RecordedRun) -> Trace:
    """The trace of a run."""
    return Trace(kind="run_finished", data=ran.run, files=ran.run["artifacts"])


def of_use(
    tool: str,
    path: str | None,
    *,
    ok: bool,
    note: str = "",
    made: Sequence[Artifact] = (),
    diff: str = "",
) -> Trace:
    """The trace of a call that ran nothing. `diff` is the change of a file that existed before. A
    diff of more than DIFF_KEPT characters is left out: the new version has the content."""
    files: list[ArtifactFields] = [
        artifact.fields() for artifact in made if not is_scratch(artifact.name)
    ]
    data: dict[str, Any] = {"tool": tool, "path": path, "ok": ok, "note": note, "artifacts": files}
    if 0 < len(diff) <= DIFF_KEPT:
        data["diff"] = diff
    return Trace(kind="tool_used", data=data, files=files)


def traces(messages: Sequence[BaseMessage]) -> list[Trace]:
    """The traces in a history, in the order of the calls."""
    return [
        message.artifact
        for message in messages
        if isinstance(message, ToolMessage) and message.artifact
    ]


def run_in(trace: Trace) -> Run | None:
    """Its run; None if nothing was run."""
    run: Any = trace["data"]
    return run if trace["kind"] == "run_finished" else None


def runs_in(found: Sequence[Trace]) -> list[Run]:
    """The runs among the traces."""
    return [run for run in map(run_in, found) if run is not None]

"""A branch: one step of the plan, beside others, in a working directory of its own."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, Protocol, cast

from langgraph.runtime import Runtime

from agents.calls.call_key import call_key
from agents.errors import BudgetExhausted
from agents.executor.agent_loop import Agent, LoopRequest, LoopResult, run_loop
from agents.graph.state import Run
from agents.nodes.executor import task_of
from agents.parallel.branch import Branch
from agents.parallel.branch_ports import ports_of
from agents.parallel.joined import joined
from agents.ports import Event, Ports
from agents.prompts import Prompt, prompt, render


class Node(Protocol):
    """A node that is sent its input, a `Branch`.

    LangGraph would make a channel of the state of each of its fields, if the type were given.
    """

    def __call__(self, state: Any, *, runtime: Runtime[Ports]) -> Awaitable[dict[str, Any]]: ...


def build_branch(agent: Agent) -> Node:
    """The node around the loop.

    It writes no field of the state that two could write: `merge` puts together what the branches
    of a wave have left.
    """

    async def branch(state: Any, *, runtime: Runtime[Ports]) -> dict[str, Any]:
        given = cast("Branch", state)
        step = given["step"]
        ports = await ports_of(runtime.context, step, given["base"])
        at = call_key(runtime.execution_info)
        async with ports.abreast.one(step):
            request = LoopRequest(
                prompt=_request(given, ports),
                at=at,
                revision=given["revision"],
                runs_before=given["runs_before"],
                apart=len(given["wave"]),
                level=given["state"].get("level", 0),
            )
            done = await _as_far_as_paid(agent, request, ports)
            told = {
                "revision": given["revision"],
                "text": done.answer,
                "runs": [run["id"] for run in done.runs],
            }
            await ports.events.emit(Event(at, "step_finished", told))
        left = {
            "step": step,
            "text": done.answer,
            "failed": _failed(done.runs),
            "workspace": ports.workspace.digest,
            "level": done.level,
        }
        return {
            "branches": [left],
            "runs": [{**run, "step": step} for run in done.runs],
        }

    return branch


async def _as_far_as_paid(agent: Agent, request: LoopRequest, ports: Ports) -> LoopResult:
    """The pass; where not even its first call can be paid, one that has left nothing: what the
    others have made is merged all the same, and the joining pass ends the job with it."""
    try:
        return await run_loop(agent, request, ports)
    except BudgetExhausted:
        return LoopResult([], render("executor/spent"), [], [], request.level)


def _request(given: Branch, ports: Ports) -> Prompt:
    state, step = given["state"], given["step"]
    told = prompt(
        "executor/step",
        step=step,
        does=state["plan"][step - 1],
        others=[other for other in given["wave"] if other != step],
        done=joined(state)["branches"],
    )
    return task_of(state, ports).then(told)


def _failed(runs: list[Run]) -> str | None:
    """How the last run failed, in a few words; None where it did not."""
    if not runs or runs[-1]["succeeded"]:
        return None
    return str((runs[-1].get("failure") or {}).get("cause", runs[-1]["end"]))

"""A branch: one step of the plan, parallel to others, in its own working directory."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, Protocol, cast

from langgraph.runtime import Runtime

from agents.attempt import Ports
from agents.calls.call_key import call_key
from agents.executor.agent_loop import Agent, LoopRequest, run_loop
from agents.nodes.executor import task_of
from agents.parallel.branch import Branch
from agents.parallel.branch_ports import branch_ports
from agents.parallel.joined import join_context
from agents.ports import Event
from agents.prompts import Prompt, prompt
from agents.runs.kept_files import remove_scratch
from agents.runs.start_files import files_at
from agents.state import Run


class Node(Protocol):
    """A node that is sent its input, a `Branch`. With the type in the signature LangGraph would add
    each of its fields to the state.
    """

    def __call__(self, state: Any, *, runtime: Runtime[Ports]) -> Awaitable[dict[str, Any]]: ...


def build_branch(agent: Agent) -> Node:
    """The node around the agent loop. It writes only lists that grow: `merge` combines what the
    branches of a wave leave.
    """

    async def branch(state: Any, *, runtime: Runtime[Ports]) -> dict[str, Any]:
        branch_input = cast("Branch", state)
        step = branch_input["step"]
        ports = await branch_ports(runtime.context, step, branch_input["base"])
        at = call_key(runtime.execution_info)
        async with ports.coordinator.one(step):
            request = LoopRequest(
                prompt=await _request(branch_input, ports),
                at=at,
                revision=branch_input["revision"],
                runs_before=branch_input["runs_before"],
                run_number_step=len(branch_input["wave"]),
                level=branch_input["state"].get("level", 0),
            )
            done = await run_loop(agent, request, ports)
            await remove_scratch(ports, at, branch_input["state"]["job"].get("start"))
            step_prompt = {
                "revision": branch_input["revision"],
                "text": done.answer,
                "runs": [run["id"] for run in done.runs],
            }
            await ports.events.emit(Event(at, "step_finished", step_prompt))
        outcome = {
            "step": step,
            "text": done.answer,
            "failed": _failed(done.runs),
            "workspace": ports.workspace.digest,
            "level": done.level,
        }
        return {
            "branches": [outcome],
            "runs": [{**run, "step": step} for run in done.runs],
        }

    return branch


async def _request(branch_input: Branch, ports: Ports) -> Prompt:
    state, step = branch_input["state"], branch_input["step"]
    later = bool(state.get("branches"))
    joined = await files_at(ports, branch_input["base"]) if later else None
    step_prompt = prompt(
        "executor/step",
        step=step,
        does=state["plan"][step - 1],
        others=[other for other in branch_input["wave"] if other != step],
        done=join_context(state)["branches"],
    )
    return task_of(state, ports, joined).then(step_prompt)


def _failed(runs: list[Run]) -> str | None:
    """How the last run failed, in a few words; None if it succeeded."""
    if not runs or runs[-1]["succeeded"]:
        return None
    return str((runs[-1].get("failure") or {}).get("cause", runs[-1]["end"]))

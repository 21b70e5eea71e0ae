"""The executor: one pass of the agent loop for each revision."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, Protocol

from langchain_core.messages import AnyMessage, ToolMessage
from langgraph.runtime import Runtime

from agents.artifacts import still_there
from agents.branches.joining import joined
from agents.checks.carried import carried_by, failing
from agents.passing import Agent, Request, take
from agents.place import place
from agents.ports import Fact, Ports
from agents.prompting import prompt, task_prompt
from agents.proving import last_work
from agents.repair.opened import open_failures
from agents.runs import EXECUTOR, last_number
from agents.spare import Prompt
from agents.state import State
from agents.telling import ending_of


class Node(Protocol):
    """A node as LangGraph calls it."""

    def __call__(self, state: State, *, runtime: Runtime[Ports]) -> Awaitable[dict[str, Any]]: ...


def build_executor(agent: Agent) -> Node:
    """The node around the loop."""

    async def executor(state: State, *, runtime: Runtime[Ports]) -> dict[str, Any]:
        ports = runtime.context
        revision = state["revision"] + 1
        at = place(runtime.execution_info)
        runs, repairs = state.get("runs", []), state.get("repairs", [])
        known = [*state["artifacts"], *state["job"]["files"]]
        joins = state["feedback"] is None and bool(state.get("branches"))
        request = Request(
            asks=_request(state, ports),
            at=at,
            revision=revision,
            runs_before=last_number(runs),
            repairs=repairs,
            opened=open_failures(runs, repairs),
            level=state.get("level", 0),
            history=state.get("messages", []),
            last_run=last_work(runs, known),
            known=known,
            steps=len(state["plan"]),
            joins=joins and bool(runs) and runs[-1]["workspace"] != state.get("workspace"),
        )
        done = await take(agent, request, ports)
        answered = {"revision": revision, "text": done.answer}
        for fact in done.steps:
            await ports.events.emit(fact)
        await ports.events.emit(Fact(at, "answered", answered))
        left = ports.workspace.digest
        artifacts = still_there(state["artifacts"], done.made, ports.workspace.list())
        kept = {**answered, "workspace": left, "artifacts": artifacts, "level": done.level}
        return {
            "messages": [_bare(message) for message in done.said],
            "revision": revision,
            "answers": [kept],
            "runs": done.runs,
            "repairs": done.repairs,
            "level": done.level,
            "workspace": left,
            "artifacts": artifacts,
            "feedback": None,
        }

    return executor


def _request(state: State, ports: Ports) -> Prompt:
    """What the executor is asked in this pass."""
    feedback = state["feedback"]
    if feedback is None:
        task = task_of(state, ports)
        if not state.get("branches"):
            return task
        return task.then(prompt("executor_joins", **joined(state)))
    edits = [
        {**run, "ending": ending_of(run, ports.limits)}
        for run in state.get("runs", [])
        if run["revision"] == state["revision"] and run["by"] != EXECUTOR
    ]
    told = {"by": feedback["by"], "text": feedback["text"], **failing(state)}
    return prompt("executor_feedback", edits=edits, **told)


def task_of(state: State, ports: Ports) -> Prompt:
    """The task with its plan, as whoever works on it is told at first."""
    return task_prompt(
        "executor_task",
        state,
        plan=state["plan"],
        checks=carried_by(state, ports).names,
        interface=state.get("interface", ""),
    )


def _bare(message: AnyMessage) -> AnyMessage:
    """A message without its trace: what that holds, the state has in `runs` and `artifacts`."""
    if isinstance(message, ToolMessage) and message.artifact:
        return message.model_copy(update={"artifact": None})
    return message

"""The executor: LangChain's agent loop, called once for each revision."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import astuple
from typing import Any, NotRequired, Protocol

from langchain.agents import create_agent
from langchain.agents.middleware import AgentState
from langchain_core.messages import AnyMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.config import get_config
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime

from agents.artifacts import still_there
from agents.calls import answered_by
from agents.checks.carried import carried_by, failing
from agents.history import closing_words, replies, this_pass
from agents.mending import course_of
from agents.middleware.models import ModelCalls
from agents.middleware.tools import ToolCalls
from agents.per_job_model import PerJob
from agents.place import place
from agents.ports import Fact, Place, Ports
from agents.prompting import render
from agents.proving import prove
from agents.runs import EXECUTOR
from agents.state import Messages, Repair, Run, State
from agents.steps import at_end
from agents.telling import ending_of
from agents.texts import trimmed
from agents.tools.build import build_tools
from agents.tools.registry import TOOLS, Body
from agents.tools.trace import repairs_in, runs_in, traces

Agent = CompiledStateGraph[Any, Ports, Any, Any]


class Node(Protocol):
    """A node as LangGraph calls it."""

    def __call__(self, state: State, *, runtime: Runtime[Ports]) -> Awaitable[dict[str, Any]]: ...


class Pass(AgentState[Any]):
    """One pass of the loop; `runs_before` counts the job's runs before it, of which `last_run` is
    the latest; `repairs` and `level` are as the outer state has them. `steps` is how many the
    plan has, whose progress the pass tells; where it is missing, somebody else does.

    `outer` is the pass's own place in the graph: namespace, node, ordinal.
    """

    messages: Messages
    revision: int
    runs_before: int
    last_run: Run | None
    repairs: list[Repair]
    level: int
    steps: NotRequired[int]
    outer: tuple[str, str, int]


def build_agent(bodies: Sequence[Body] = TOOLS) -> Agent:
    """The loop, compiled, with these tools. What belongs to one job comes with the runtime context.

    It keeps no checkpoints: each of its calls is in the journal, so a pass that starts anew after
    a crash recalls them all, and a long pass costs one write a call.
    """
    return create_agent(
        model=PerJob(),
        tools=build_tools(bodies),
        system_prompt=render("executor_system", tools=[body.__name__ for body in bodies]),
        middleware=(ModelCalls(), ToolCalls()),
        state_schema=Pass,
        context_schema=Ports,
        checkpointer=False,
    )


def build_executor(agent: Agent) -> Node:
    """The node around the loop."""

    async def executor(state: State, *, runtime: Runtime[Ports]) -> dict[str, Any]:
        ports = runtime.context
        revision = state["revision"] + 1
        at = place(runtime.execution_info)
        history, runs = state.get("messages", []), state.get("runs", [])
        repairs = state.get("repairs", [])
        request = HumanMessage(_request(state, ports))
        got = await agent.ainvoke(
            {
                "messages": [*history, request],
                "revision": revision,
                "runs_before": len(runs),
                "last_run": runs[-1] if runs else None,
                "repairs": repairs,
                "level": state.get("level", 0),
                "steps": len(state["plan"]),
                "outer": astuple(at),
            },
            _unsaved(get_config()),
        )
        said: list[AnyMessage] = got["messages"][len(history) :]
        proof = await prove(got, ports)
        answer = trimmed(closing_words(said), ports.bounds.answer)
        answered = {"revision": revision, "text": answer}
        for fact in _ended(got, proof, at):
            await ports.events.emit(fact)
        await ports.events.emit(Fact(at, "answered", answered))
        found = traces([*said, *([proof] if proof else [])])
        level = course_of(got, ports, *repairs_in(found[len(traces(said)) :])).level
        made = [file for trace in found for file in trace["files"]]
        return {
            "messages": [_bare(message) for message in said],
            "revision": revision,
            "answers": [{**answered, "workspace": ports.workspace.digest, "level": level}],
            "runs": runs_in(found),
            "repairs": repairs_in(found),
            "level": level,
            "workspace": ports.workspace.digest,
            "artifacts": still_there(state["artifacts"], made, ports.workspace.list()),
            "feedback": None,
        }

    return executor


def _ended(got: Mapping[str, Any], proof: ToolMessage | None, at: Place) -> Sequence[Fact]:
    """The steps that are finished with the pass: none, where it was not the model that ended it."""
    said = this_pass(got["messages"])
    if not said or answered_by(said[-1]) is None:
        return ()
    proven = runs_in(traces([proof])) if proof is not None else []
    moved = at_end(said, proven[-1] if proven else None, got.get("steps", 0))
    return moved.facts(at, replies(said), got["revision"])


def _unsaved(config: RunnableConfig) -> RunnableConfig:
    """`config` for a graph that keeps no checkpoints inside one that does.

    The outer graph's durability comes with its config, and "sync" fails where there is no
    checkpointer (LangGraph 1.2.22); given as an argument it works, but warns on every call.
    """
    return {**config, "configurable": {**config["configurable"], "__pregel_durability": "async"}}


def _request(state: State, ports: Ports) -> str:
    """What the executor is asked in this pass."""
    feedback = state["feedback"]
    if feedback is None:
        job = state["job"]
        return render(
            "executor_task",
            task=job["task"],
            earlier=job["earlier"],
            files=job["files"],
            plan=state["plan"],
            clarified=state.get("clarified", []),
            checks=sorted(carried_by(state, ports).files),
            interface=state.get("interface", ""),
        )
    edits = [
        {**run, "ending": ending_of(run, ports.limits)}
        for run in state.get("runs", [])
        if run["revision"] == state["revision"] and run["by"] != EXECUTOR
    ]
    told = {"by": feedback["by"], "text": feedback["text"], **failing(state)}
    return render("executor_feedback", edits=edits, **told)


def _bare(message: AnyMessage) -> AnyMessage:
    """A message without its trace: what that holds, the state has in `runs` and `artifacts`."""
    if isinstance(message, ToolMessage) and message.artifact:
        return message.model_copy(update={"artifact": None})
    return message

"""The graph: planner -> executor -> verification -> review -> critic -> executor | summarize.

A job can ask for questions and tests before the plan, and for its independent steps to run in
parallel branches after it (wave by wave, each wave merged before the next).

The graph is built once per process. All values that belong to one job come with the runtime context
(`Ports`):

    await graph.ainvoke(initial_state(job), config, context=ports, durability="sync")
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.runtime import Runtime
from langgraph.types import Send

from agents.attempt import Ports
from agents.executor.agent_loop import build_agent
from agents.nodes.branches import build_branch, merge
from agents.nodes.critic import critic
from agents.nodes.edit import edit
from agents.nodes.executor import build_executor
from agents.nodes.planner import planner
from agents.nodes.questions import asker, questions
from agents.nodes.review import review
from agents.nodes.summarize import summarize
from agents.nodes.tester import tester
from agents.nodes.verification import verification
from agents.parallel.branches import branch_of
from agents.state import Action, State
from agents.tools.registry import TOOLS, Body

Graph = CompiledStateGraph[State, Ports, State, State]

RECURSION_LIMIT = 10_000
"""LangGraph's default of 25 would stop a job that people send back often. The bounds that count are
`max_revisions` and `Bounds.steps`."""


def build(checkpointer: BaseCheckpointSaver[Any] | None, tools: Sequence[Body] = TOOLS) -> Graph:
    """The compiled graph. All jobs share it; it holds no state of a job.

    `tools` are the executor's. All jobs have the same tools, so that all prompts have the same
    beginning and providers can cache it. Without a `checkpointer` a job cannot be paused.
    """
    graph = StateGraph(State, context_schema=Ports)
    graph.add_node("asker", asker)
    graph.add_node("questions", questions)
    graph.add_node("tester", tester)
    graph.add_node("planner", planner)
    agent = build_agent(tools)
    graph.add_node("branch", build_branch(agent))
    graph.add_node("merge", merge)
    graph.add_node("executor", build_executor(agent))
    graph.add_node("verification", verification)
    graph.add_node("review", review)
    graph.add_node("edit", edit)
    graph.add_node("critic", critic)
    graph.add_node("summarize", summarize)
    _add_beginning(graph)
    graph.add_conditional_edges("planner", to_work, ["branch", "executor"])
    graph.add_edge("branch", "merge")
    graph.add_conditional_edges("merge", to_work, ["branch", "executor"])
    graph.add_edge("executor", "verification")
    graph.add_conditional_edges("verification", after_verification, ["review", "critic"])
    graph.add_conditional_edges("review", after_review, ["summarize", "executor", "edit", "critic"])
    graph.add_edge("edit", "verification")
    graph.add_conditional_edges("critic", after_critic, ["summarize", "executor"])
    graph.add_edge("summarize", END)
    compiled: Graph = graph.compile(checkpointer=checkpointer)
    return compiled.with_config({"recursion_limit": RECURSION_LIMIT})


def _add_beginning(graph: StateGraph[State, Ports, State, State]) -> None:
    """The nodes before the planner: questions, then tests. A job asks for them."""
    graph.add_conditional_edges(START, at_start, ["asker", "tester", "planner"])
    graph.add_conditional_edges("asker", after_asker, ["questions", "tester", "planner"])
    graph.add_conditional_edges("questions", before_planning, ["tester", "planner"])
    graph.add_edge("tester", "planner")


_AFTER_REVIEW: dict[str, Literal["summarize", "executor", "edit", "critic"]] = {
    Action.APPROVE: "summarize",
    Action.REVISE: "executor",
    Action.EDIT: "edit",
    Action.DELEGATE: "critic",
}


def at_start(state: State) -> Literal["asker", "tester", "planner"]:
    """To the asker, if the job allows questions."""
    return "asker" if state["job"].get("questions") else before_planning(state)


def after_asker(state: State) -> Literal["questions", "tester", "planner"]:
    """To the person, if there are questions."""
    return "questions" if state.get("asked") else before_planning(state)


def before_planning(state: State) -> Literal["tester", "planner"]:
    """To the tester, if the job asks for tests."""
    return "tester" if state["job"].get("write_tests") else "planner"


def to_work(state: State) -> list[Send] | Literal["executor"]:
    """To one branch for each step of the next wave; to the executor when no wave is left."""
    waves, merged = state.get("waves", []), state.get("merged", 0)
    if merged >= len(waves):
        return "executor"
    wave = waves[merged]
    return [Send("branch", branch_of(state, wave, step)) for step in wave]


def after_verification(_: State, runtime: Runtime[Ports]) -> Literal["review", "critic"]:
    """To the person, if the job has a review; else to the critic. A retry may change that, so
    the state does not have it."""
    return "review" if runtime.context.bounds.review else "critic"


def after_review(state: State) -> Literal["summarize", "executor", "edit", "critic"]:
    """To the node of the person's latest decision."""
    return _AFTER_REVIEW[state["decisions"][-1]["action"]]


def after_critic(state: State) -> Literal["summarize", "executor"]:
    """Back to the executor, unless approved or out of revisions."""
    done = state["approved_by"] is not None or state["exhausted"]
    return "summarize" if done else "executor"

"""The graph: planner -> executor -> verification -> review -> critic -> executor | summarize.

A job can ask for questions and tests before the plan, and for its independent steps to run in
parallel branches after it (wave by wave, each wave merged before the next).

The graph is built once per process. Everything that belongs to one job comes with the runtime
context (`Ports`):

    await graph.ainvoke(initial_state(job), config, context=ports, durability="sync")
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from agents.attempt import Ports
from agents.executor.agent_loop import build_agent
from agents.graph import routing
from agents.nodes.asker import asker
from agents.nodes.branch import build_branch
from agents.nodes.critic import critic
from agents.nodes.edit import edit
from agents.nodes.executor import build_executor
from agents.nodes.merge import merge
from agents.nodes.planner import planner
from agents.nodes.questions import questions
from agents.nodes.review import review
from agents.nodes.summarize import summarize
from agents.nodes.tester import tester
from agents.nodes.verification import verification
from agents.state import State
from agents.tools.registry import TOOLS, Body

Graph = CompiledStateGraph[State, Ports, State, State]

RECURSION_LIMIT = 10_000
"""LangGraph's default of 25 would stop a job that people send back often. The bounds that count are
`max_revisions` and `Bounds.steps`."""


def build(checkpointer: BaseCheckpointSaver[Any] | None, tools: Sequence[Body] = TOOLS) -> Graph:
    """The compiled graph. All jobs share it; it holds no state of a job.

    `tools` are the executor's: the same for every job, so that all prompts have the same beginning
    and providers can cache it. Without a `checkpointer` a job cannot be paused.
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
    graph.add_conditional_edges("planner", routing.to_work, ["branch", "executor"])
    graph.add_edge("branch", "merge")
    graph.add_conditional_edges("merge", routing.to_work, ["branch", "executor"])
    graph.add_edge("executor", "verification")
    graph.add_conditional_edges("verification", routing.after_verification, ["review", "critic"])
    graph.add_conditional_edges(
        "review", routing.after_review, ["summarize", "executor", "edit", "critic"]
    )
    graph.add_edge("edit", "verification")
    graph.add_conditional_edges("critic", routing.after_critic, ["summarize", "executor"])
    graph.add_edge("summarize", END)
    compiled: Graph = graph.compile(checkpointer=checkpointer)
    return compiled.with_config({"recursion_limit": RECURSION_LIMIT})


def _add_beginning(graph: StateGraph[State, Ports, State, State]) -> None:
    """The nodes before the planner: questions, then tests. A job asks for them."""
    graph.add_conditional_edges(START, routing.at_start, ["asker", "tester", "planner"])
    graph.add_conditional_edges("asker", routing.after_asker, ["questions", "tester", "planner"])
    graph.add_conditional_edges("questions", routing.before_planning, ["tester", "planner"])
    graph.add_edge("tester", "planner")

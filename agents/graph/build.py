"""The graph: planner -> executor -> verification -> review -> critic -> executor | summarize.

Where the job wants it, questions and tests come before the plan, and branches for its independent
steps after it (wave by wave, each merged before the next).

Built once a process. All that belongs to one job comes with the runtime context (`Ports`), so that
starting an attempt costs nothing:

    await graph.ainvoke(initial_state(job), config, context=ports, durability="sync")
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph

from agents.executor.agent_loop import build_agent
from agents.graph import routing
from agents.graph.state import State
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
from agents.ports import Ports
from agents.tools.registry import TOOLS, Body

Graph = CompiledStateGraph[State, Ports, State, State]

MOST_STEPS = 10_000
"""LangGraph's own bound of 25 would stop a job that people send back often; ours are
`max_revisions` and `Bounds.steps`."""


def build(checkpointer: BaseCheckpointSaver[Any] | None, tools: Sequence[Body] = TOOLS) -> Graph:
    """The graph, compiled. Threads (jobs) share it; it holds nothing of any of them.

    `tools` are those of the executor: the same for every job, so that prompts begin alike.

    `checkpointer` None: a job that is never paused can do without, and so without a thread.
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
    return compiled.with_config({"recursion_limit": MOST_STEPS})


def _add_beginning(graph: StateGraph[State, Ports, State, State]) -> None:
    """What comes before the plan, where the job wants it: questions, then tests."""
    graph.add_conditional_edges(START, routing.at_start, ["asker", "tester", "planner"])
    graph.add_conditional_edges("asker", routing.after_asker, ["questions", "tester", "planner"])
    graph.add_conditional_edges("questions", routing.before_planning, ["tester", "planner"])
    graph.add_edge("tester", "planner")

"""A small graph in a process of its own: `python checkpointed_graph.py URL NOTES COMMAND`.

Nodes append their name to NOTES, so that a test sees what ran how often. COMMAND is `start` (which
dies by SIGKILL inside the subgraph's second node, the first time it gets there), `continue`, or a
decision as JSON, `{"INTERRUPT ID": ANSWER}`. Prints the state as one JSON object.
"""

from __future__ import annotations

import asyncio
import json
import operator
import os
import signal
import sys
from pathlib import Path
from typing import Annotated, Any, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt
from redis.asyncio import Redis
from support.graph.checkpoint_savers import unfenced

from worker.checkpoints import RedisSaver

THREAD = "job:1|ü"


class State(TypedDict):
    trail: Annotated[list[str], operator.add]


def build(notes: Path, saver: RedisSaver, *, dies: bool) -> Any:
    """plan -> work (a subgraph: draft -> finish) -> gate (asks) -> done."""

    def note(name: str) -> dict[str, list[str]]:
        with notes.open("a") as file:
            file.write(name + "\n")
        return {"trail": [name]}

    def finish(_: State) -> dict[str, list[str]]:
        if dies:
            os.kill(os.getpid(), signal.SIGKILL)
        return note("finish")

    def gate(_: State) -> dict[str, list[str]]:
        return {"trail": [interrupt({"question": "good?"})]}

    work = StateGraph(State)
    work.add_node("draft", lambda _: note("draft"))
    work.add_node("finish", finish)
    work.add_edge(START, "draft")
    work.add_edge("draft", "finish")

    graph = StateGraph(State)
    graph.add_node("plan", lambda _: note("plan"))
    graph.add_node("work", work.compile())
    graph.add_node("gate", gate)
    graph.add_node("done", lambda _: note("done"))
    for before, after in [(START, "plan"), ("plan", "work"), ("work", "gate"), ("gate", "done")]:
        graph.add_edge(before, after)
    graph.add_edge("done", END)
    return graph.compile(checkpointer=saver)


async def main(url: str, notes: str, command: str) -> None:
    values: Any = {"start": {"trail": []}, "continue": None}
    given = values[command] if command in values else Command(resume=json.loads(command))
    async with Redis.from_url(url) as redis:
        saver = RedisSaver(redis, unfenced(redis))
        graph = build(Path(notes), saver, dies=command == "start")
        config = {"configurable": {"thread_id": THREAD}}
        await graph.ainvoke(given, config, durability="sync")
        state = await graph.aget_state(config)
    asked = {each.id: each.value for each in state.interrupts}
    print(json.dumps({"trail": state.values["trail"], "next": state.next, "asked": asked}))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))

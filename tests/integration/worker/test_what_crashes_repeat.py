"""An experiment that is kept: what LangGraph's checkpoints, its pending writes, checkpoints inside
the executor's pass, and the journal each cover when a worker dies.

The real graph with a job of 19 calls (9 of models, 6 of tools, and 4 runs of its verifications) is
cut at five places, under five arrangements, and goes on. A cell of TABLE is how many calls were
made twice; the table stands in docs/reliability.md.
`PYTHONPATH=tests python tests/integration/worker/test_what_crashes_repeat.py` prints it.
"""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest
from langchain.agents import create_agent
from langchain_core.messages import ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from support.graph.graphs import ANSWERS, CALLS, TASK, TURNS, Crash, Journey, PlannedSandbox

from agents.executor import agent_loop
from agents.executor.tool_call_sequencer import ToolCallSequencer
from agents.graph.build import Graph, build
from agents.graph.job_input import JobInput
from agents.ports import Finished
from agents.ports.memory import MemoryJournal, MemoryRecord, MemoryWorkspace

REPOSITORY = Path(__file__).resolve().parents[3]
BEHIND = {
    1: "after the planner's call, before its node ends",
    3: "between two tool calls of one reply",
    5: "after a model call late in the pass, before its node ends",
}
AT_WORK = "while the second of two tool calls is at work"
SECOND_TOOL = 4
BEFORE = "after the pass, before its checkpoint"
CUTS = (BEHIND[1], BEHIND[3], AT_WORK, BEHIND[5], BEFORE)
AFTER_FIRST_PASS = 2
"""The step of the checkpoint behind the executor's first pass."""


@dataclass
class Death:
    """Where the worker dies, once; `dead`: nothing is kept any more."""

    cut: str
    dead: bool = False
    over: bool = False

    def at(self, cut: str) -> None:
        if cut == self.cut and not self.over:
            self.dead = self.over = True
            raise Crash


class Saver(InMemorySaver):
    """Keeps nothing that comes after the death of the worker."""

    death = Death("")
    results = 0
    """Of tools that are kept by themselves."""

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        outer = not config["configurable"].get("checkpoint_ns")
        if outer and metadata["step"] == AFTER_FIRST_PASS:
            self.death.at(BEFORE)
        if self.death.dead:
            raise Crash
        return super().put(config, checkpoint, metadata, new_versions)

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        if self.death.dead:
            raise Crash
        super().put_writes(config, writes, task_id, task_path)
        said = (each for _, value in writes if isinstance(value, list) for each in value)
        self.results += sum(isinstance(each, ToolMessage) for each in said)

    def forget_pending(self, thread: str) -> None:
        """Drop the writes on checkpoints that have no successor yet."""
        for namespace, kept in self.storage[thread].items():
            self.writes.pop((thread, namespace, max(kept)), None)


@dataclass
class Journal(MemoryJournal):
    """Dies after what it has put on record; `kept` is False where there is no journal. Each call
    that is truly `made` asks it in vain before."""

    on: MemoryRecord
    death: Death
    kept: bool
    first_is_kept: Callable[[], bool]
    """Whether the node of the first tool has ended, where that is kept at all."""
    ended: int = 0
    made: int = 0

    def __post_init__(self) -> None:
        super().__init__(self.on)

    async def recall(self, key: str) -> bytes | None:
        known = await super().recall(key) if self.kept else None
        if known is None:
            await self._makes()
        return known

    async def _makes(self) -> None:
        self.made += 1
        if self.made == SECOND_TOOL:
            async with asyncio.timeout(20):
                while not self.first_is_kept():
                    await asyncio.sleep(0.001)
            self.death.at(AT_WORK)

    async def record(self, key: str, finished: Finished) -> None:
        await super().record(key, finished)
        self.ended += 1
        if self.ended in BEHIND:
            self.death.at(BEHIND[self.ended])


class NoTurn(ToolCallSequencer):
    """Lets a tool call go ahead whose predecessor is not made again: its result is a pending write
    of the pass. A pass without checkpoints of its own makes all calls of a reply again, in order.
    """

    @contextlib.asynccontextmanager
    async def of(self, reply: str, index: int = 0) -> AsyncIterator[None]:
        yield


@dataclass(frozen=True)
class Arrangement:
    """What is there to go on from. Checkpoints of the graph are in all of them."""

    pending: bool = True
    inside: bool = False
    journal: bool = False


ARRANGEMENTS = {
    "checkpoints of the graph alone": Arrangement(pending=False),
    "and pending writes": Arrangement(),
    "and checkpoints inside the pass": Arrangement(inside=True),
    "the journal, and no pending writes": Arrangement(pending=False, journal=True),
    "the journal and pending writes (as built)": Arrangement(journal=True),
}
TABLE = {
    "checkpoints of the graph alone": [1, 2, 3, 4, 8],
    "and pending writes": [1, 2, 3, 4, 0],
    "and checkpoints inside the pass": [1, 1, 1, 1, 0],
    "the journal, and no pending writes": [0, 0, 1, 0, 0],
    "the journal and pending writes (as built)": [0, 0, 1, 0, 0],
}
"""The call that is at work when a worker dies is made again whatever is kept. A whole pass that is
made again is nine calls, and spares one: its `verify` has then run on the files that it ends with.
"""


async def repeated(arrangement: Arrangement, graph: Graph, cut: str, folder: Path) -> int:
    """How many calls of models and tools are made twice."""
    death, saver = Death(cut), cast("Saver", graph.checkpointer)
    saver.death, saver.results = death, 0
    journey = Journey.plan(folder, TURNS, PlannedSandbox(ANSWERS))
    journey.graph = graph
    kept = lambda: not arrangement.inside or saver.results > 0  # noqa: E731
    journal = Journal(journey.record, death, arrangement.journal, kept)
    journey.ports = journey.with_ports(journal=journal)
    with pytest.raises(Crash):
        await journey.begin(JobInput(TASK))
    death.dead = False
    if not arrangement.pending:
        saver.forget_pending(journey.thread)
    workspace, turn = (
        MemoryWorkspace(journey.record),
        NoTurn() if arrangement.inside else ToolCallSequencer(),
    )
    journey.ports = journey.with_ports(workspace=workspace, sequencer=turn)
    await journey._on(None)
    assert (await journey.outcome()).approved_by == "critic"
    return journal.made - CALLS


@contextlib.contextmanager
def executor_that_saves() -> Iterator[None]:
    """The pass as LangGraph has it by default, with checkpoints under the job's own thread."""
    with pytest.MonkeyPatch.context() as patch:

        def create(*, checkpointer: object, **given: Any) -> Any:
            return create_agent(**given)

        patch.setattr(agent_loop, "create_agent", create)
        patch.setattr(agent_loop, "_unsaved", lambda config: config)
        yield


async def table(folder: Path) -> dict[str, list[int]]:
    """The calls made twice: a row for each arrangement, with a cell for each cut."""
    with executor_that_saves():
        inside = build(Saver())
    outside = build(Saver())
    return {
        name: [
            await repeated(
                each, inside if each.inside else outside, cut, folder / f"{row}-{column}"
            )
            for column, cut in enumerate(CUTS)
        ]
        for row, (name, each) in enumerate(ARRANGEMENTS.items())
    }


def printed_table(found: Mapping[str, Sequence[int]]) -> str:
    """As Markdown."""
    lines = [f"| calls made twice | {' | '.join(CUTS)} |", "|---" * (len(CUTS) + 1) + "|"]
    lines += [f"| {name} | {' | '.join(map(str, cells))} |" for name, cells in found.items()]
    return "\n".join(lines)


@pytest.mark.invariant("J13")
async def test_what_each_covers(tmp_path: Path) -> None:
    found = await table(tmp_path)
    assert found == TABLE, printed_table(found)


def test_the_table_is_the_one_that_is_published() -> None:
    assert printed_table(TABLE) in (REPOSITORY / "docs" / "reliability.md").read_text()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        print(printed_table(asyncio.run(table(Path(made)))))

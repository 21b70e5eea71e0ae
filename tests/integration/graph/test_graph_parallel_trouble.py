"""Steps side by side, and what may come between: crashes, outages, budgets, a cancel."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from langgraph.errors import GraphDrained
from langgraph.runtime import RunControl
from support.graph.graphs import Crash, Journey, PlannedSandbox
from support.graph.parallel_job import (
    ANSWERS,
    CALLS,
    JOB,
    MODEL_CALLS,
    PROGRAMS,
    TURNS,
    MeetingSandbox,
)

from agents.errors import BudgetExhausted, Stopped
from agents.ports import Finished
from agents.ports.memory import MemoryBudget, MemoryCancel, MemoryJournal, MemoryRecord
from sandbox.protocol import Command, Limits, RunResult, SandboxUnavailable


@dataclass
class CrashingJournal(MemoryJournal):
    """Crashes at the record number `at`, before or after it is made."""

    on: MemoryRecord
    at: int
    before: bool
    count: int = 0

    def __post_init__(self) -> None:
        super().__init__(self.on)

    async def record(self, key: str, finished: Finished) -> None:
        self.count += 1
        crashes = self.count == self.at
        if crashes and self.before:
            raise Crash
        await super().record(key, finished)
        if crashes:
            raise Crash


def events(journey: Journey) -> Counter[str]:
    """What was told, in any order: branches do not wait for each other. Calls differ in seconds."""
    return Counter(
        "model_called"
        if event.kind == "model_called"
        else f"{event.kind} {sorted(event.data.items())}"
        for event in journey.record.events.values()
    )


@pytest.fixture(scope="module")
def smooth(tmp_path_factory: pytest.TempPathFactory) -> Journey:
    """The same job without a crash."""
    journey = Journey.plan(tmp_path_factory.mktemp("smooth"), TURNS, PlannedSandbox(ANSWERS))
    asyncio.run(journey.begin(JOB))
    assert len(journey.record.outcomes) == CALLS
    assert len(journey.record.charges) == MODEL_CALLS
    return journey


@pytest.mark.parametrize("before", [False, True], ids=["behind", "before"])
@pytest.mark.parametrize("at", range(1, CALLS + 1))
@pytest.mark.invariant("J13")
async def test_a_crash_anywhere_repeats_no_finished_call(
    tmp_path: Path, at: int, before: bool, smooth: Journey
) -> None:
    sandbox = PlannedSandbox(ANSWERS)
    journey = Journey.plan(tmp_path, TURNS, sandbox)
    journey.ports = journey.with_ports(journal=CrashingJournal(journey.record, at, before))
    with pytest.raises(Crash):
        await journey.begin(JOB)
    known = dict(journey.record.outcomes)
    await journey.go_on()
    assert {key: journey.record.outcomes[key] for key in known} == known
    assert len(journey.record.outcomes) == CALLS
    assert len(journey.record.charges) == MODEL_CALLS
    assert set(sandbox.ran) == set(PROGRAMS)
    assert len(sandbox.ran) <= len(PROGRAMS) + 2  # what was in flight in either branch
    assert events(journey) == events(smooth)
    assert await journey.outcome() == await smooth.outcome()


@dataclass
class LateTrouble(PlannedSandbox):
    """The second branch's program meets with trouble once: when the first branch has ended, or
    at once."""

    trouble: BaseException = field(default_factory=lambda: SandboxUnavailable("no rooms"))
    record: MemoryRecord | None = None

    async def run(self, command: Command, limits: Limits) -> RunResult:
        result = await super().run(command, limits)
        if command.argv[-1] == "two" and self.ran.count("two") == 1:
            while self.record is not None and not self._ended():
                await asyncio.sleep(0)
            raise self.trouble
        return result

    def _ended(self) -> bool:
        assert self.record is not None
        return any(event.kind == "step_finished" for event in self.record.events.values())


async def test_a_branch_that_has_ended_is_not_repeated_when_another_crashes(
    tmp_path: Path, smooth: Journey
) -> None:
    sandbox = LateTrouble(ANSWERS, trouble=Crash())
    journey = Journey.plan(tmp_path, TURNS, sandbox)
    sandbox.record = journey.record
    with pytest.raises(Crash):
        await journey.begin(JOB)
    assert len(journey.data_of("model_called")) == 1 + 3 + 1
    await journey.go_on()
    assert Counter(sandbox.ran) == {"one": 1, "more": 1, "two": 2, "whole": 1}
    assert len(journey.record.charges) == MODEL_CALLS
    assert events(journey) == events(smooth)
    assert await journey.outcome() == await smooth.outcome()


async def test_an_outage_in_one_branch_lets_the_other_come_to_its_end(
    tmp_path: Path, smooth: Journey
) -> None:
    sandbox = LateTrouble(ANSWERS)
    journey = Journey.plan(tmp_path, TURNS, sandbox)
    with pytest.raises(SandboxUnavailable):
        await journey.begin(JOB)
    assert [told["step"] for told in journey.data_of("step_finished")] == [1]
    await journey.go_on()
    assert Counter(sandbox.ran) == {"one": 1, "more": 1, "two": 2, "whole": 1}
    assert events(journey) == events(smooth)
    assert await journey.outcome() == await smooth.outcome()


async def test_what_could_be_paid_is_merged_when_the_budget_is_spent(tmp_path: Path) -> None:
    journey = Journey.plan(tmp_path, TURNS, PlannedSandbox(ANSWERS))
    journey.ports = journey.with_ports(budget=MemoryBudget(journey.record, 2 * 110))
    with pytest.raises(BudgetExhausted):
        await journey.begin(JOB)
    assert journey.record.tokens == 2 * 110
    (merged,) = journey.data_of("merged")
    assert merged["files"] == ["count.txt", "one.txt"]
    assert dict(journey.record.blobs)[journey.record.workspace or ""]


async def test_a_drained_job_goes_on_in_every_branch(tmp_path: Path, smooth: Journey) -> None:
    control = RunControl()

    class Draining(MeetingSandbox):
        async def run(self, command: Command, limits: Limits) -> RunResult:
            control.request_drain()
            return await super().run(command, limits)

    sandbox = Draining(ANSWERS)
    journey = Journey.plan(tmp_path, TURNS, sandbox)
    with pytest.raises(GraphDrained):
        await journey.begin(JOB, control)
    assert sorted(sandbox.ran) == ["one", "two"]  # what was at work came to its end
    await journey.go_on()
    assert sorted(sandbox.ran) == sorted(PROGRAMS)
    assert events(journey) == events(smooth)
    assert await journey.outcome() == await smooth.outcome()


async def test_a_cancelled_job_starts_nothing_more_in_any_branch(tmp_path: Path) -> None:
    cancel = MemoryCancel()

    class Cancelling(MeetingSandbox):
        async def run(self, command: Command, limits: Limits) -> RunResult:
            result = await super().run(command, limits)
            cancel.cancelled = True
            return result

    sandbox = Cancelling(ANSWERS)
    journey = Journey.plan(tmp_path, TURNS, sandbox)
    journey.ports = journey.with_ports(cancel=cancel)
    with pytest.raises(Stopped):
        await journey.begin(JOB)
    assert sorted(sandbox.ran) == ["one", "two"]
    assert len(journey.data_of("model_called")) == 3

"""Parallel steps during crashes, outages, exhausted budgets and a cancel."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass
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
from support.graph.planted import Planted

from agents.errors import BudgetExhausted, StateUnreadable, Stopped
from agents.graph.memory_ports import MemoryBudget, MemoryCancel, MemoryJournal, MemoryRecord
from agents.ports import Finished
from sandbox.protocol import Command, Limits, RunResult, SandboxUnavailable


@dataclass
class CrashingJournal(MemoryJournal):
    """Crashes at the record number `at`, before or after it is written."""

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
    """The events, in any order: branches do not wait for each other. Calls differ in seconds."""
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


@pytest.mark.parametrize("at", [2, 5, 8])
@pytest.mark.parametrize("with_digest", [False, True])
async def test_a_call_that_a_journal_entry_names_is_not_made(
    tmp_path: Path, at: int, with_digest: bool
) -> None:
    """An entry of a branch begins with the digest of its files."""
    marker = tmp_path / "marker"
    journey = Journey.plan(tmp_path / "job", TURNS, PlannedSandbox(ANSWERS))
    crashing = CrashingJournal(journey.record, at, before=False)
    journey.ports = journey.with_ports(journal=crashing)
    with pytest.raises(Crash):
        await journey.begin(JOB)
    planted = (b"\n" if with_digest else b"") + Planted(1).bytes_for(marker)
    journey.record.outcomes.update(dict.fromkeys(journey.record.outcomes, planted))
    with pytest.raises(StateUnreadable, match="journal entry"):
        await journey.go_on()
    assert not marker.exists()


@pytest.mark.parametrize("before", [False, True], ids=["behind", "before"])
@pytest.mark.parametrize("at", range(1, CALLS + 1))
@pytest.mark.invariant("J13")
async def test_a_crash_at_any_point_repeats_no_finished_call(
    tmp_path: Path, at: int, before: bool, smooth: Journey
) -> None:
    sandbox = PlannedSandbox(ANSWERS)
    journey = Journey.plan(tmp_path, TURNS, sandbox)
    journey.ports = journey.with_ports(journal=CrashingJournal(journey.record, at, before))
    with pytest.raises(Crash):
        await journey.begin(JOB)
    outcomes = dict(journey.record.outcomes)
    await journey.go_on()
    assert {key: journey.record.outcomes[key] for key in outcomes} == outcomes
    assert len(journey.record.outcomes) == CALLS
    assert len(journey.record.charges) == MODEL_CALLS
    assert set(sandbox.ran) == set(PROGRAMS)
    assert len(sandbox.ran) <= len(PROGRAMS) + 2  # at most one run in flight in each branch
    assert events(journey) == events(smooth)
    assert await journey.outcome() == await smooth.outcome()


class LateTrouble(PlannedSandbox):
    """The program of the second branch fails once."""

    async def run(self, command: Command, limits: Limits) -> RunResult:
        result = await super().run(command, limits)
        if command.argv[-1] == "two" and self.ran.count("two") == 1:
            raise SandboxUnavailable("no sandbox")
        return result


async def test_an_outage_in_one_branch_does_not_stop_the_other(
    tmp_path: Path, smooth: Journey
) -> None:
    sandbox = LateTrouble(ANSWERS)
    journey = Journey.plan(tmp_path, TURNS, sandbox)
    with pytest.raises(SandboxUnavailable):
        await journey.begin(JOB)
    assert [data["step"] for data in journey.event_data("step_finished")] == [1]
    await journey.go_on()
    assert Counter(sandbox.ran) == {"one": 1, "more": 1, "two": 2, "whole": 1}
    assert events(journey) == events(smooth)
    assert await journey.outcome() == await smooth.outcome()


async def test_a_larger_budget_continues_every_branch(tmp_path: Path, smooth: Journey) -> None:
    sandbox = PlannedSandbox(ANSWERS)
    journey = Journey.plan(tmp_path, TURNS, sandbox)
    journey.ports = journey.with_ports(budget=MemoryBudget(journey.record, most=3 * 110))
    with pytest.raises(BudgetExhausted):
        await journey.begin(JOB)
    assert len(journey.record.charges) == 3
    journey.ports = journey.with_ports(budget=MemoryBudget(journey.record))
    await journey.go_on()
    assert len(journey.record.charges) == MODEL_CALLS
    assert events(journey) == events(smooth)
    assert await journey.outcome() == await smooth.outcome()


async def test_a_drained_job_continues_in_every_branch(tmp_path: Path, smooth: Journey) -> None:
    control = RunControl()

    class Draining(MeetingSandbox):
        async def run(self, command: Command, limits: Limits) -> RunResult:
            control.request_drain()
            return await super().run(command, limits)

    sandbox = Draining(ANSWERS)
    journey = Journey.plan(tmp_path, TURNS, sandbox)
    with pytest.raises(GraphDrained):
        await journey.begin(JOB, control)
    assert sorted(sandbox.ran) == ["one", "two"]  # the programs in flight ended
    await journey.go_on()
    assert sorted(sandbox.ran) == sorted(PROGRAMS)
    assert events(journey) == events(smooth)
    assert await journey.outcome() == await smooth.outcome()


async def test_a_cancelled_job_starts_no_further_call_in_any_branch(tmp_path: Path) -> None:
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
    assert len(journey.event_data("model_called")) == 3

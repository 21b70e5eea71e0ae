"""Crashes of the graph: no finished call and no event is repeated."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from langgraph.errors import GraphDrained
from langgraph.runtime import RunControl
from support.graph.graphs import (
    ANSWERS,
    CALLS,
    MODEL_CALLS,
    PLAN,
    RUNS,
    TASK,
    TURNS,
    Crash,
    Journey,
    PlannedSandbox,
    call,
    printed,
    turn,
    verdict,
)

from agents.errors import Stopped
from agents.graph.job_input import job_fields
from agents.graph.memory_ports import MemoryJournal, MemoryRecord
from agents.ports import Finished
from agents.ports.environment import SandboxEnvironment
from sandbox.protocol import Command, Limits, RunResult


@dataclass
class CrashingJournal(MemoryJournal):
    """Crashes at the record number `at`, before or after it is written; 0: never."""

    on: MemoryRecord
    at: int
    before: bool
    keys: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(self.on)

    async def record(self, key: str, finished: Finished) -> None:
        self.keys.append(key)
        crashes = len(self.keys) == self.at
        if crashes and self.before:
            raise Crash
        await super().record(key, finished)
        if crashes:
            raise Crash


async def journey_with_a_crash(
    folder: Path, at: int, *, before: bool
) -> tuple[Journey, CrashingJournal, PlannedSandbox]:
    sandbox = PlannedSandbox(ANSWERS)
    journey = Journey.plan(folder, TURNS, sandbox)
    journal = CrashingJournal(journey.record, at, before)
    journey.ports = journey.with_ports(journal=journal)
    if at:
        with pytest.raises(Crash):
            await journey.begin(job_fields(TASK))
        await journey.go_on()
    else:
        await journey.begin(job_fields(TASK))
    return journey, journal, sandbox


async def test_a_worker_with_other_packages_in_its_sandbox_repeats_no_call(tmp_path: Path) -> None:
    journey = Journey.plan(tmp_path, TURNS, PlannedSandbox(ANSWERS))
    journal = CrashingJournal(journey.record, at=6, before=False)
    journey.ports = journey.with_ports(journal=journal, environment=SandboxEnvironment("3.11.1"))
    with pytest.raises(Crash):
        await journey.begin(job_fields(TASK))
    newer_environment = SandboxEnvironment("3.13.1", ("polars 1.2",), ("git",))
    journey.ports = journey.with_ports(environment=newer_environment)
    await journey.go_on()
    assert len(journal.keys) == CALLS


@pytest.fixture(scope="module")
def smooth(tmp_path_factory: pytest.TempPathFactory) -> Journey:
    """The same job without a crash."""
    journey, journal, _ = asyncio.run(
        journey_with_a_crash(tmp_path_factory.mktemp("smooth"), 0, before=True)
    )
    assert len(journal.keys) == CALLS
    return journey


@pytest.mark.parametrize("at", range(1, CALLS + 1))
@pytest.mark.invariant("J13")
async def test_a_finished_call_is_not_repeated(tmp_path: Path, at: int, smooth: Journey) -> None:
    journey, journal, sandbox = await journey_with_a_crash(tmp_path, at, before=False)
    assert len(set(journal.keys)) == len(journal.keys) == CALLS
    assert sandbox.ran == RUNS
    assert len(journey.record.charges) == MODEL_CALLS
    assert journey.kinds() == smooth.kinds()
    assert await journey.outcome() == await smooth.outcome()


@pytest.mark.parametrize("at", range(1, CALLS + 1))
@pytest.mark.invariant("J13")
async def test_only_the_call_in_flight_is_repeated(
    tmp_path: Path, at: int, smooth: Journey
) -> None:
    journey, journal, sandbox = await journey_with_a_crash(tmp_path, at, before=True)
    assert len(journal.keys) == CALLS + 1
    assert journal.keys[at - 1] in journal.keys[at:]
    assert sandbox.ran in (RUNS, *([*RUNS[: n + 1], *RUNS[n:]] for n in range(len(RUNS))))
    assert journey.kinds() == smooth.kinds()
    assert await journey.outcome() == await smooth.outcome()


@dataclass
class DrainingSandbox(PlannedSandbox):
    """Requests a drain during a run."""

    control: RunControl = field(default_factory=RunControl)

    async def run(self, command: Command, limits: Limits) -> RunResult:
        self.control.request_drain()
        return await super().run(command, limits)


async def test_a_drained_job_continues_after_its_last_call(tmp_path: Path, smooth: Journey) -> None:
    sandbox = DrainingSandbox(ANSWERS)
    journey = Journey.plan(tmp_path, TURNS, sandbox)
    with pytest.raises(GraphDrained):
        await journey.begin(job_fields(TASK), sandbox.control)
    assert sandbox.ran == RUNS[:2]  # the current step was finished
    await journey.go_on()
    assert sandbox.ran == RUNS
    assert journey.kinds() == smooth.kinds()
    assert await journey.outcome() == await smooth.outcome()


async def test_runs_keep_their_numbers_and_files(tmp_path: Path) -> None:
    # The crash happens between two runs that one turn of the model requested.
    journey, _, sandbox = await journey_with_a_crash(tmp_path, 3, before=False)
    numbers = [run["number"] for run in journey.event_data("run_finished")]
    assert numbers == [1, 2, 3, 4, 5, 6]  # experiments have no numbers
    assert sandbox.files_per_run[1] == {"one": b"one"}
    assert sandbox.files_per_run[2] == {"one": b"one", "two": b"two", "a.py": b"a"}
    assert sandbox.files_per_run[3] == {**sandbox.files_per_run[2], "b.txt": b"b"}
    assert sandbox.files_per_run[4] != sandbox.files_per_run[3]
    assert sandbox.files_per_run[5] == sandbox.files_per_run[3]
    files = (await journey.ports.workspace.tree()).files
    assert files == sandbox.files_per_run[6]
    assert len(journey.event_data("verified")) == 2


EDITED = [
    PLAN,
    turn("executor", TASK, call("write_file", path="a.py", content="x = 1\n")),
    turn("executor", "wrote a.py", call("verify", command=["check"]), after=1),
    turn("executor", "exit code 0", call("write_file", path="a.py", content="x = 2\n"), after=2),
    turn("executor", "wrote a.py", "Done.", after=3),
    verdict("(revision 1)", "approve"),
]
"""A job that changes its file after `verify`: Fettle runs the verification again, then the
experiment."""


class Experimenting(PlannedSandbox):
    """A program that fails if its file is not the job's version."""

    async def run(self, command: Command, limits: Limits) -> RunResult:
        if not command.files:
            return printed("{}")  # the program that parses the changed code
        is_of_job = command.files["a.py"].startswith(b"x = ")
        self.ran.append("green" if is_of_job else "red")
        return printed(code=0 if is_of_job else 1)


@pytest.mark.parametrize("at", range(1, 12))
async def test_neither_verification_nor_experiment_is_repeated(tmp_path: Path, at: int) -> None:
    sandbox = Experimenting({})
    journey = Journey.plan(tmp_path, EDITED, sandbox)
    journey.ports = journey.with_ports(journal=CrashingJournal(journey.record, at, before=False))
    with pytest.raises(Crash):
        await journey.begin(job_fields(TASK))
    await journey.go_on()
    assert sandbox.ran == ["green", "green", "red"]
    assert journey.kinds().count("verified") == 1
    assert (await journey.outcome()).approved


@pytest.mark.invariant("J11")
async def test_no_experiment_starts_after_a_cancellation(tmp_path: Path) -> None:
    sandbox = Experimenting({})
    journey = Journey.plan(tmp_path, EDITED, sandbox, {"a.py": b"old"})

    class CancelledAfterTheFirst:
        async def check(self) -> None:
            if "red" in sandbox.ran:
                raise Stopped("the job was cancelled")

    journey.ports = journey.with_ports(cancel=CancelledAfterTheFirst())
    with pytest.raises(Stopped):
        await journey.begin(job_fields(TASK, files=("a.py",)))
    # The last run is the experiment on the state before; none has an unloadable file.
    assert sandbox.ran == ["green", "green", "red"]

"""The drill: load and faults by a schedule, then a rest, a reading and the verdict."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from cli.local.processes import Processes, running
from cli.signals import Signals, StoppedBySignal
from jobs.model.record import Reason
from jobs.store.redis_store import connect
from lab.drills import process_tree
from lab.drills.chaos.checks.case import RecoveryBounds
from lab.drills.chaos.checks.checker import CheckerVerdict, check
from lab.drills.chaos.checks.recovery import KILLS
from lab.drills.chaos.deployment import provider
from lab.drills.chaos.deployment.processes import ChaosDeployment
from lab.drills.chaos.deployment.reading import Reading, at_rest, lines, of_store
from lab.drills.chaos.faults.injector import Faults
from lab.drills.chaos.faults.strikes import GRACE_SECONDS, alone
from lab.drills.chaos.load.client import ChaosClient
from lab.drills.chaos.load.generator import Load
from lab.drills.chaos.oplog import Left, Moment, OperationLog, Repaired, Struck
from lab.drills.chaos.progress import Progress
from lab.drills.chaos.schedule import Fault, schedule

AFTER_SECONDS = 15.0
"""The seconds in which jobs without a following client may end."""
KEEP_SECONDS = 0.2
STALL_SECONDS = 1.0
ENOUGH = 0.8
"""The share of kills that must have found a target: a run with few kills proves little."""
REST_SECONDS = 60.0
"""Seconds that are longer than any recovery: if no job ends within this time, no further
job will.
"""


@dataclass(frozen=True, slots=True)
class ChaosOutcome:
    """The result of a run. `planned` are the faults of the schedule by kind, `faults` the faults
    that found a target. `unasked` counts programs that ended by themselves, by name. `failures` are
    errors of the drill's own clients.
    """

    verdict: CheckerVerdict
    seconds: float
    planned: Mapping[str, int]
    faults: Mapping[str, int]
    kills: int
    unasked: Mapping[str, int]
    failures: tuple[str, ...]

    @property
    def undone(self) -> Mapping[str, int]:
        """Jobs that failed because of a fault, by reason: no person rejected them."""
        return {
            reason: n for reason, n in self.verdict.reasons.items() if reason != Reason.REJECTED
        }

    @property
    def missed(self) -> Mapping[str, int]:
        """Faults that found no target, by kind."""
        return dict(Counter(self.planned) - Counter(self.faults))

    @property
    def kills_planned(self) -> int:
        """The number of workers that the schedule planned to kill."""
        return sum(self.planned.get(kind, 0) for kind in KILLS)

    @property
    def attacked(self) -> bool:
        """Whether the number of jobs and kills suffices for the verdict."""
        return self.verdict.jobs > 0 and self.kills >= ENOUGH * self.kills_planned

    @property
    def passed(self) -> bool:
        """Whether there were enough faults, every rule held, no job failed because of a fault, and
        every client was served.
        """
        wrong = (self.verdict.violations, self.verdict.lost, self.undone, self.failures)
        return self.attacked and not any(wrong)


@dataclass(frozen=True, slots=True)
class ChaosOptions:
    """The options of a run. `keep` is a folder for all logs: the operations, the jobs at the end,
    and the log of each program.
    """

    minutes: float
    seed: int
    bounds: RecoveryBounds
    keep: Path | None = None


ShowProgress = Callable[[Progress], contextlib.AbstractContextManager[object]]


def run(options: ChaosOptions, watch: ShowProgress) -> ChaosOutcome:
    """Run the drill on a new deployment, which leaves no process and no file. Raises CliError."""
    with (
        _log(options) as log,
        _workplace(options) as (processes, folder),
        provider.provider(log) as server,
    ):
        progress = Progress(log, options.minutes * 60)
        deployment = ChaosDeployment(processes, folder, options.bounds, provider.settings(server))
        with watch(progress), deployment.ready(), _runner() as runner:
            return runner.run(_run(options, deployment, log, progress))


@contextlib.contextmanager
def _runner() -> Iterator[asyncio.Runner]:
    """An asyncio runner that does not name the signal that ends it. If a signal arrives during a
    task, it is raised here, and also ends every task that waited for this task.
    """

    def report(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if not isinstance(context.get("exception"), StoppedBySignal):
            loop.default_exception_handler(context)

    with asyncio.Runner() as runner:
        runner.get_loop().set_exception_handler(report)
        yield runner


async def _run(
    options: ChaosOptions, deployment: ChaosDeployment, log: OperationLog, progress: Progress
) -> ChaosOutcome:
    """Run all jobs and all faults; then wait until the jobs are at rest and all faults are
    repaired."""
    plan = schedule(options.seed, options.minutes)
    faults = Faults(deployment, log)
    async with (
        ChaosClient(deployment.url, deployment.key, log) as client,
        asyncio.TaskGroup() as doing,
    ):
        keeping = doing.create_task(_keep(deployment, log))
        load = Load(client)
        progress.begin()
        progress.doing = "under way"
        async with asyncio.TaskGroup() as breaking:
            for fault in plan.faults:
                breaking.create_task(_strike(faults, fault))
            await load.submit_all(plan.jobs, options.minutes * 60)
        progress.doing = "coming to rest"
        await load.come_to_rest(options.bounds.recovery + REST_SECONDS)
        await faults.settled()
        keeping.cancel()
    reading = await _read(options, deployment)
    progress.doing = "killing all workers"
    await _look_for_survivors(deployment, log)
    return ChaosOutcome(
        verdict=check(log.entries, reading, options.bounds),
        seconds=progress.elapsed,
        planned=Counter(str(fault.kind) for fault in plan.faults),
        faults=progress.faults,
        kills=progress.kills,
        unasked=dict(deployment.unasked),
        failures=tuple(load.failures),
    )


async def _read(options: ChaosOptions, deployment: ChaosDeployment) -> Reading:
    """Read all jobs at rest; with `keep`, also write them to its folder."""
    redis = connect(deployment.redis.url)
    try:
        await at_rest(redis, options.bounds.recovery + AFTER_SECONDS)
        reading = await of_store(redis)
    finally:
        await redis.aclose()
    if options.keep is not None:
        text = "".join(f"{line}\n" for line in lines(reading))
        (options.keep / "jobs.jsonl").write_text(text, encoding="utf-8")
    return reading


async def _strike(faults: Faults, fault: Fault) -> None:
    """Make a fault happen at its time; several faults may be active at once."""
    await asyncio.sleep(fault.at)
    await faults.strike(fault)


async def _keep(deployment: ChaosDeployment, log: OperationLog) -> None:
    """Restart programs that have ended; record the times at which the machine stood still."""
    while True:
        deployment.keep()
        before = Moment.now()
        await asyncio.sleep(KEEP_SECONDS)
        if Moment.now().mono - before.mono > STALL_SECONDS:
            log.add(Struck(at=before, fault="machine-stalled", blinds=True))
            log.add(Repaired(fault="machine-stalled"))


async def _look_for_survivors(deployment: ChaosDeployment, log: OperationLog) -> None:
    """Kill all workers at once, including the processes of jobs that run alone: no process below
    them may remain.
    """
    servers = {deployment.running[name].pid for name in ("redis", "api")}
    spared = servers | {process.pid for process in process_tree.below(*servers)}
    process_tree_of_worker = process_tree.living(deployment.running["worker"].pid)
    for worker in (*deployment.workers(), *process_tree_of_worker):
        worker.signal(signal.SIGKILL)
    deployment.running["forked"].process.kill()
    for process in process_tree.below(os.getpid()):
        if alone(process):
            process.signal(signal.SIGKILL)
    await asyncio.sleep(GRACE_SECONDS)
    for process in process_tree.below(os.getpid()):
        if process.pid not in spared and process.lives:
            log.add(Left(pid=process.pid, command=process.command, why="outlives all workers"))


@contextlib.contextmanager
def _workplace(options: ChaosOptions) -> Iterator[tuple[Processes, Path]]:
    with (
        Signals() as signals,
        TemporaryDirectory(prefix="fettle-chaos-", ignore_cleanup_errors=True) as folder,
        running(signals) as processes,
    ):
        try:
            yield processes, Path(folder)
        finally:
            if options.keep is not None:
                for path in Path(folder).glob("*.log"):
                    shutil.copy(path, options.keep / path.name)


@contextlib.contextmanager
def _log(options: ChaosOptions) -> Iterator[OperationLog]:
    if options.keep is not None:
        options.keep.mkdir(parents=True, exist_ok=True)
    log = OperationLog(options.keep / "operations.jsonl" if options.keep else None)
    try:
        yield log
    finally:
        log.close()

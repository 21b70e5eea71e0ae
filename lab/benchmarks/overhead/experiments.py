"""The time of the experiments after a verification, in one process with the real sandbox."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from agents.graph.build import build
from agents.graph.job_input import initial_state, job_fields
from agents.graph.memory_ports import MemoryRecord, ports_over
from agents.graph.outcome import read_outcome
from agents.models.options import ModelOptions
from agents.models.pool import ModelPool
from agents.models.role_models import RoleModels
from agents.runs.helper import describe
from lab.benchmarks.overhead import job
from sandbox.protocol import Command, IsolationLayer, Limits, RunResult, Sandbox

MODEL = "recording:experiments"
TASK = "Find a word in a sorted list: find(words, word) in words.py, with tests."


@dataclass(slots=True)
class TimedSandbox:
    """Passes each run on to `inner`, and records its seconds."""

    inner: Sandbox
    seconds: list[float] = field(default_factory=list)

    async def run(self, command: Command, limits: Limits) -> RunResult:
        """See `sandbox.protocol.Sandbox`."""
        started_at = time.perf_counter()
        try:
            return await self.inner.run(command, limits)
        finally:
            self.seconds.append(time.perf_counter() - started_at)

    async def check(self) -> tuple[IsolationLayer, ...]:
        """See `sandbox.protocol.Sandbox`."""
        return await self.inner.check()

    async def close(self) -> None:
        """Leaves the inner sandbox open."""


@dataclass(frozen=True, slots=True)
class Tried:
    """The milliseconds of a verification and of its experiments, and the number of their runs."""

    verification_ms: float
    experiments_ms: float
    experiment_runs: int

    def keys(self) -> dict[str, float]:
        """The keys of `--json`."""
        return {
            "verification_ms": round(self.verification_ms, 1),
            "experiments_ms": round(self.experiments_ms, 1),
            "experiment_runs": self.experiment_runs,
        }


async def measure(sandbox: Sandbox, rounds: int) -> Tried:
    """Medians over jobs. The first run of a job is its verification, which the executor declares;
    all others are experiments."""
    environment = await describe(sandbox, Limits())
    pool = ModelPool(ModelOptions(recordings=job.RECORDINGS))
    jobs: list[Sequence[float]] = []
    for _ in range(rounds):
        timed = TimedSandbox(sandbox)
        ports = ports_over(MemoryRecord(), timed, RoleModels.alone(pool, MODEL))
        ports = replace(ports, environment=environment)
        state = await build(None).ainvoke(initial_state(job_fields(TASK)), context=ports)
        assert read_outcome(state).approved, "the job took another course"
        jobs.append(timed.seconds)
    return Tried(
        verification_ms=statistics.median(seconds[0] for seconds in jobs) * 1000,
        experiments_ms=statistics.median(sum(seconds[1:]) for seconds in jobs) * 1000,
        experiment_runs=len(jobs[0]) - 1,
    )

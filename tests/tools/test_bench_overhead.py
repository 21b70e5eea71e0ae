"""The benchmark of overhead: its job with experiments, through a real sandbox."""

from __future__ import annotations

from lab.benchmarks.overhead.experiments import measure
from sandbox.local import LocalSandbox
from settings.worker import WorkerSettings


async def test_the_time_of_experiments_is_counted_separately_from_the_verification() -> None:
    sandbox = LocalSandbox(WorkerSettings().sandbox_python)
    try:
        tried = await measure(sandbox, rounds=1)
    finally:
        await sandbox.close()
    assert tried.experiment_runs >= 1
    assert min(tried.verification_ms, tried.experiments_ms) > 1
    assert tried.keys().keys() == {"verification_ms", "experiments_ms", "experiment_runs"}

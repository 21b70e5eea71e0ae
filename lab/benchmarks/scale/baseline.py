"""The baseline: `python -m lab.benchmarks.scale.baseline JOBS SECONDS`, one process with one loop.

The same graph, tools, sandboxes and model, without queue, record and checkpoints. It has the
workers' event loop (uvloop), and the whole machine.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from dataclasses import replace

import click
import uvloop

from agents.graph.build import build
from agents.graph.job_input import initial_state, job_fields
from agents.graph.memory_ports import MemoryRecord, ports_over
from agents.models.pool import ModelPool
from agents.models.role_models import RoleModels
from lab.benchmarks.scale import model
from settings.worker import WorkerSettings
from worker.adapters.backend import backend, limits
from worker.adapters.sandbox import Bounded
from worker.context import model_options
from worker.metrics import WorkerFigures

WARM_JOBS = 50


async def fly(jobs: int, seconds: float) -> float:
    """Run this number of jobs at once in this loop; returns the seconds until the end of the last
    job.
    """
    settings = WorkerSettings()
    pool = ModelPool(model_options(settings))
    pool_backend = backend(settings)
    sandbox = Bounded(
        pool_backend, asyncio.Semaphore(settings.runs_at_once), WorkerFigures(slots=jobs)
    )
    graph, bounds = build(None), limits(settings)

    async def run(name: str) -> None:
        record = MemoryRecord()
        ports = replace(ports_over(record, sandbox, RoleModels.alone(pool, name)), limits=bounds)
        await graph.ainvoke(initial_state(job_fields(model.TASK)), context=ports)
        _check(record)

    try:
        await sandbox.check()
        await asyncio.gather(*(run(model.flight(0)) for _ in range(min(WARM_JOBS, jobs))))
        await pool_backend.wait_until_warm()
        started_at = time.perf_counter()
        await asyncio.gather(*(run(model.flight(seconds)) for _ in range(jobs)))
        return time.perf_counter() - started_at
    finally:
        await sandbox.close()
        await pool.aclose()


def _check(record: MemoryRecord) -> None:
    """Check that both sides did the same."""
    tools = [
        event for event in record.events.values() if event.kind in ("tool_used", "run_finished")
    ]
    done = (len(record.charges), len(tools))
    assert done == (model.FLIGHT_CALLS, model.FLIGHT_TOOLS), done


@click.command()
@click.argument("jobs", type=int)
@click.argument("seconds", type=float)
def main(jobs: int, seconds: float) -> None:
    """Print {"seconds": ...} for this number of jobs, with a model that takes SECONDS per call."""
    sys.stdout.write(json.dumps({"seconds": uvloop.run(fly(jobs, seconds))}) + "\n")


if __name__ == "__main__":
    main()

"""`python -m lab.benchmarks.overhead [--json]`: the service compared with the graph in one process.

Keys of the JSON line: service_ms, baseline_ms, latency_ratio (one job at a time, submit to final;
medians) and service_jobs_per_s, baseline_jobs_per_s, throughput_ratio (16 at once, service over
baseline); and apart from that, for a job with a verification in one process: verification_ms,
experiments_ms and experiment_runs (the runs after the verification). Exits 1 if a ratio misses its
goal.
"""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
from dataclasses import dataclass

import click

from cli.local.throwaway import throwaway
from cli.output import Screen
from lab.benchmarks.overhead import experiments, job
from lab.benchmarks.overhead.baseline import Baseline
from lab.benchmarks.overhead.service import ServiceRun
from sandbox.local import LocalSandbox
from settings.worker import WorkerSettings

MOST_LATENCY = 3.3
LEAST_THROUGHPUT = 0.45
WORKERS = 2
TOGETHER = 16
EXPERIMENT_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Measured:
    """Medians over the rounds."""

    service_ms: float
    baseline_ms: float
    service_jobs_per_s: float
    baseline_jobs_per_s: float
    tried: experiments.Tried

    def keys(self) -> dict[str, float]:
        """The keys of `--json`."""
        return {
            "service_ms": round(self.service_ms, 1),
            "baseline_ms": round(self.baseline_ms, 1),
            "latency_ratio": round(self.service_ms / self.baseline_ms, 2),
            "service_jobs_per_s": round(self.service_jobs_per_s, 1),
            "baseline_jobs_per_s": round(self.baseline_jobs_per_s, 1),
            "throughput_ratio": round(self.service_jobs_per_s / self.baseline_jobs_per_s, 2),
            **self.tried.keys(),
        }


async def measure(
    service: ServiceRun, baseline: Baseline, rounds: int, batches: int, tried: experiments.Tried
) -> Measured:
    """Measure both sides in turn, so that a slow moment of the machine affects both."""
    for _ in range(3):
        await service.run()
        await baseline.run()
    service_one, baseline_one = [], []
    for _ in range(rounds):
        service_one.append(await service.run())
        baseline_one.append(await baseline.run())
    service_many, baseline_many = [], []
    for _ in range(batches):
        service_many.append(await service.run_together(TOGETHER))
        baseline_many.append(await baseline.run_together(TOGETHER))
    return Measured(
        service_ms=statistics.median(service_one) * 1000,
        baseline_ms=statistics.median(baseline_one) * 1000,
        service_jobs_per_s=TOGETHER / statistics.median(service_many),
        baseline_jobs_per_s=TOGETHER / statistics.median(baseline_many),
        tried=tried,
    )


async def compare(url: str, key: str, rounds: int, batches: int) -> Measured:
    """Measure against a running service."""
    sandbox = LocalSandbox(WorkerSettings().sandbox_python)
    service = ServiceRun(url, key)
    try:
        tried = await experiments.measure(sandbox, EXPERIMENT_ROUNDS)
        return await measure(service, Baseline.ready(sandbox), rounds, batches, tried)
    finally:
        await service.close()
        await sandbox.close()


@click.command()
@click.option("--json", "as_json", is_flag=True, help="print one JSON object as the last line")
@click.option("--rounds", default=30, show_default=True, help="jobs one at a time, each side")
@click.option("--batches", default=7, show_default=True, help=f"batches of {TOGETHER}, each side")
def main(as_json: bool, rounds: int, batches: int) -> None:
    """Start a temporary service with two workers, and compare."""
    env = {"FETTLE_RECORDINGS_DIR": str(job.RECORDINGS), "FETTLE_RATE_LIMIT": "1000000/minute"}
    with throwaway(Screen(), workers=WORKERS, env=env) as service:
        measured = asyncio.run(compare(service.url, service.key, rounds, batches))
    keys = measured.keys()
    click.echo(
        f"one at a time   service {keys['service_ms']} ms, baseline {keys['baseline_ms']} ms a job"
    )
    click.echo(f"                ratio {keys['latency_ratio']} (goal: at most {MOST_LATENCY})")
    click.echo(
        f"{TOGETHER} at once      service {keys['service_jobs_per_s']}, "
        f"baseline {keys['baseline_jobs_per_s']} jobs a second, {WORKERS} workers"
    )
    click.echo(
        f"                ratio {keys['throughput_ratio']} (goal: at least {LEAST_THROUGHPUT})"
    )
    click.echo(
        f"experiments     {keys['experiment_runs']} runs in {keys['experiments_ms']} ms, after a "
        f"verification of {keys['verification_ms']} ms; not part of the figures above"
    )
    if as_json:
        click.echo(json.dumps(keys))
    late = keys["latency_ratio"] > MOST_LATENCY
    sys.exit(1 if late or keys["throughput_ratio"] < LEAST_THROUGHPUT else 0)


if __name__ == "__main__":
    main()

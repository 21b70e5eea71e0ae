"""`python -m benchmarks.overhead [--json]`: the service beside a bare loop, in one run.

Keys of the JSON line: ours_ms, bare_ms, latency_ratio (one job at a time, submit to final; medians)
and ours_jobs_per_s, bare_jobs_per_s, throughput_ratio (16 at once, ours over bare).
"""

from __future__ import annotations

import asyncio
import json
import statistics
from dataclasses import dataclass

import click

from benchmarks.overhead import job
from benchmarks.overhead.baseline import Bare
from benchmarks.overhead.service import ServiceRun
from cli.screen import Screen
from cli.throwaway import throwaway
from sandbox.local import LocalSandbox
from settings.worker import WorkerSettings

WORKERS = 2
TOGETHER = 16


@dataclass(frozen=True, slots=True)
class Measured:
    """Medians over the rounds."""

    ours_ms: float
    bare_ms: float
    ours_jobs_per_s: float
    bare_jobs_per_s: float

    def keys(self) -> dict[str, float]:
        """What `--json` prints."""
        return {
            "ours_ms": round(self.ours_ms, 1),
            "bare_ms": round(self.bare_ms, 1),
            "latency_ratio": round(self.ours_ms / self.bare_ms, 2),
            "ours_jobs_per_s": round(self.ours_jobs_per_s, 1),
            "bare_jobs_per_s": round(self.bare_jobs_per_s, 1),
            "throughput_ratio": round(self.ours_jobs_per_s / self.bare_jobs_per_s, 2),
        }


async def measure(ours: ServiceRun, bare: Bare, rounds: int, batches: int) -> Measured:
    """Both sides in turn, so that a slow moment of the machine meets both."""
    await ours.check()
    for _ in range(3):
        await ours.run()
        await bare.run()
    ours_one, bare_one = [], []
    for _ in range(rounds):
        ours_one.append(await ours.run())
        bare_one.append(await bare.run())
    ours_many, bare_many = [], []
    for _ in range(batches):
        ours_many.append(await ours.run_together(TOGETHER))
        bare_many.append(await bare.run_together(TOGETHER))
    return Measured(
        ours_ms=statistics.median(ours_one) * 1000,
        bare_ms=statistics.median(bare_one) * 1000,
        ours_jobs_per_s=TOGETHER / statistics.median(ours_many),
        bare_jobs_per_s=TOGETHER / statistics.median(bare_many),
    )


async def compare(url: str, key: str, rounds: int, batches: int) -> Measured:
    """Measure against a running service."""
    sandbox = LocalSandbox(WorkerSettings().sandbox_python)
    ours = ServiceRun(url, key)
    try:
        return await measure(ours, Bare.ready(sandbox), rounds, batches)
    finally:
        await ours.close()
        await sandbox.close()


@click.command()
@click.option("--json", "as_json", is_flag=True, help="print one JSON object as the last line")
@click.option("--rounds", default=30, show_default=True, help="jobs one at a time, each side")
@click.option("--batches", default=7, show_default=True, help=f"batches of {TOGETHER}, each side")
def main(as_json: bool, rounds: int, batches: int) -> None:
    """Start a throw-away service with two workers, and compare."""
    env = {"FETTLE_RECORDINGS_DIR": str(job.RECORDINGS), "FETTLE_RATE_LIMIT": "1000000/minute"}
    with throwaway(Screen(), workers=WORKERS, env=env) as service:
        measured = asyncio.run(compare(service.url, service.key, rounds, batches))
    keys = measured.keys()
    click.echo(f"one at a time   ours {keys['ours_ms']} ms, bare {keys['bare_ms']} ms a job")
    click.echo(f"                ratio {keys['latency_ratio']} (goal: at most 3)")
    click.echo(
        f"{TOGETHER} at once      ours {keys['ours_jobs_per_s']}, "
        f"bare {keys['bare_jobs_per_s']} jobs a second, {WORKERS} workers"
    )
    click.echo(f"                ratio {keys['throughput_ratio']} (goal: at least 0.5)")
    if as_json:
        click.echo(json.dumps(keys))


if __name__ == "__main__":
    main()

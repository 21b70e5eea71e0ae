"""If workers are killed during a benchmark, each exercise still has one job and one result."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.processes.benchmarks import Benchmarks, running_benchmarks
from support.processes.deployment import MORTAL

COUNT = 6


def replace_worker(benchmarks: Benchmarks) -> None:
    """Kill the worker with SIGKILL, and start another."""
    benchmarks.deployment.workers[-1].kill()
    benchmarks.deployment.worker(groq_base_url=benchmarks.server.groq_url, lease_seconds=MORTAL)


@pytest.mark.invariant("J13")
def test_kills_during_a_benchmark(tmp_path: Path) -> None:
    with running_benchmarks(tmp_path, COUNT, lease_seconds=MORTAL) as benchmarks:
        service = benchmarks.service

        def jobs(kind: str) -> list[str]:
            listed = service.jobs(kind=kind, label=f"benchmark={job_id}", limit=100)["jobs"]
            return [job["id"] for job in listed]

        def result_count() -> int:
            events = benchmarks.read(f"/jobs/{job_id}")["last_event"]
            return events - 3  # submitted, started, benchmark_started

        benchmarks.hangs.set()
        job_id = benchmarks.submit(benchmark={"at_once": 2})
        benchmarks.until(lambda: len(jobs("exercise")) > 0)  # perhaps between two submissions
        replace_worker(benchmarks)
        benchmarks.hangs.clear()
        for count in (1, 2, 4):
            benchmarks.until(lambda count=count: result_count() >= count)
            replace_worker(benchmarks)
        job = benchmarks.finished(job_id)
        report = job["result"]["benchmark"]
        assert (report["tries"], report["measured"]) == (COUNT, COUNT)
        assert (report["first"]["share"], report["final"]["share"]) == (2 / COUNT, 4 / COUNT)
        assert len(jobs("exercise")) == COUNT
        results = [e.data for e in service.events(job_id) if e.kind == "exercise_finished"]
        assert sorted(result["id"] for result in results) == [f"e{n}" for n in range(1, COUNT + 1)]
        assert {result["job"] for result in results} == set(jobs("exercise"))
        verdicts = [v for r in results for v in (r["first"], r["final"]) if v["verification"]]
        assert {verdict["verification"] for verdict in verdicts} == set(jobs("verification"))

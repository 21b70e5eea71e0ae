"""The API dies in the middle of a batch, and a file has wrong lines: each job is made once."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path

import httpx
import pytest
from support.graph.recorded import one_run
from support.processes.api_process import api_environment, running
from support.processes.deployment import running_deployment
from support.processes.fettle_command import environment, fettle
from support.processes.fronts import front

from settings.base import DEVELOPMENT_KEY

KEY = {"Idempotency-Key": "nightly"}
JOBS = 200
LINES = """{"task": "one"}

{"task": "two"
{"task": "three", "colour": "red"}
["four"]
{"task": "five", "labels": ["own"]}
"""


async def test_after_the_death_of_the_api_a_repeated_batch_makes_each_job_once(
    redis_url: str, tmp_path: Path
) -> None:
    env = api_environment(redis_url, tmp_path)
    jobs = [{"task": f"task {number}"} for number in range(JOBS)]
    with running(env, tmp_path / "first") as dying, running(env, tmp_path / "second") as living:
        async with dying.client() as client, living.client() as other_client:
            request = asyncio.create_task(
                client.post("/jobs/batch", json={"jobs": jobs}, headers=KEY, timeout=60)
            )
            while (await other_client.get("/jobs")).json()["total"] < JOBS // 10:
                assert not request.done(), "the batch was submitted too fast to be interrupted"
            dying.process.kill()
            with pytest.raises(httpx.TransportError):
                await request
            jobs_before = (await other_client.get("/jobs")).json()["total"]
            assert jobs_before < JOBS
            answer = await other_client.post(
                "/jobs/batch", json={"jobs": jobs}, headers=KEY, timeout=60
            )
            batch = answer.json()
            assert batch["accepted"] == JOBS
            assert sum(row["replayed"] for row in batch["jobs"]) == jobs_before
            tasks = []
            for offset in range(0, JOBS, 100):
                query = f"batch={batch['id']}&limit=100&offset={offset}"
                page = (await other_client.get(f"/jobs?{query}")).json()
                tasks += [job["task"] for job in page["jobs"]]
            assert sorted(tasks) == sorted(job["task"] for job in jobs)
            assert (await other_client.get("/jobs")).json()["total"] == JOBS


async def test_wrong_lines_of_a_file_stop_no_other(redis_url: str, tmp_path: Path) -> None:
    (tmp_path / "tasks.jsonl").write_text(LINES)
    with running(api_environment(redis_url, tmp_path), tmp_path / "log") as api:
        env = environment(tmp_path, FETTLE_URL=api.url, FETTLE_API_KEY=DEVELOPMENT_KEY)
        run = ("run", "--batch", "tasks.jsonl", "--key", "k", "--label", "all", "--no-wait")
        first = fettle(*run, cwd=tmp_path, env=env)
        assert first.returncode == 1
        for number in (3, 4, 5):
            assert f"line {number}" in first.stderr
        assert "colour" in first.stderr
        ids = first.stdout.split()
        assert fettle(*run, cwd=tmp_path, env=env).stdout.split() == ids
        rows = fettle(*run, "--json", cwd=tmp_path, env=env).stdout.splitlines()
        outcomes = {row["line"]: row for row in map(json.loads, rows)}
        assert [outcomes[number]["job"]["id"] for number in (1, 6)] == ids
        assert {number for number, row in outcomes.items() if "problem" in row} == {3, 4, 5}
        async with api.client() as client:
            listed = (await client.get("/jobs?sort=oldest")).json()["jobs"]
            assert sorted(job["task"] for job in listed) == ["five", "one"]
            assert {job["task"]: job["labels"] for job in listed} == {
                "one": ["all"],
                "five": ["own"],
            }

        batch_id = re.search(r"batch: ([0-9a-f]{20})", first.stderr)[1]
        cancelled = fettle("batch", batch_id, "--cancel", "--json", cwd=tmp_path, env=env)
        assert json.loads(cancelled.stdout)["counts"] == {"cancelled": 2}
        followed = fettle(*run[:-1], cwd=tmp_path, env=env)
        assert followed.returncode == 1
        assert "2 cancelled" in followed.stderr
        assert followed.stdout.count("cancelled") == 2


async def test_a_batch_that_succeeds_ends_with_0(tmp_path: Path) -> None:
    with running_deployment(tmp_path) as deployment, front(deployment) as api:
        model = deployment.record("works", one_run("6 times 7", "print(42)"))
        deployment.worker()
        await deployment.ready(seconds=120)
        lines = [json.dumps({"task": "6 times 7", "model": model}) for _ in range(3)]
        (tmp_path / "tasks.jsonl").write_text("\n".join(lines))
        env = environment(tmp_path, FETTLE_URL=api.url, FETTLE_API_KEY=DEVELOPMENT_KEY)
        done = fettle("run", "--batch", "tasks.jsonl", "--json", cwd=tmp_path, env=env)
        assert done.returncode == 0, done.stderr + deployment.logs()
        jobs = [json.loads(line)["job"] for line in done.stdout.splitlines()]
        assert [job["status"] for job in jobs] == ["succeeded"] * 3

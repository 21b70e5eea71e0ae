"""Batches: each job is accepted or refused by itself, once, and all are counted and cancelled."""

from __future__ import annotations

import asyncio

import pytest
from support.pages.api_front import client_of, settings_for, started

from jobs.errors import StoreUnavailable
from jobs.store import Charge, Writes

KEY = {"Idempotency-Key": "nightly"}
WRONG = ({"task": ""}, {"task": "x", "colour": "red"}, 5, {"task": "x", "max_cost_usd": -1})


@pytest.fixture
async def front(redis_url, tmp_path):
    async with started(settings_for(redis_url, tmp_path)) as front:
        yield front


def tasks(count: int) -> list[dict]:
    return [{"task": f"task {number}", "labels": ["nightly"]} for number in range(count)]


async def send(front, jobs: list, headers=KEY, status: int = 202) -> dict:
    answer = await front.client.post("/jobs/batch", json={"jobs": jobs}, headers=headers)
    assert answer.status_code == status, answer.text
    return answer.json()


async def listed(front, batch_id: str) -> list[str]:
    answer = await front.client.get(f"/jobs?batch={batch_id}&sort=oldest&limit=100")
    return [job["task"] for job in answer.json()["jobs"]]


async def test_wrong_jobs_stop_no_others(front):
    first, second = tasks(2)
    batch = await send(front, [first, *WRONG, second])
    assert (batch["accepted"], batch["retryable"]) == (2, 0)
    assert [answer["index"] for answer in batch["jobs"]] == list(range(6))
    for answer in batch["jobs"][1:-1]:
        assert (answer["job"], answer["problem"]["status"]) == (None, 422)
        assert answer["problem"]["errors"][0]["message"]
    alone = await front.client.post("/jobs", json=WRONG[1])
    same, alone = dict(batch["jobs"][2]["problem"]), alone.json()
    assert same["errors"][0]["field"] == alone["errors"][0]["field"] == "colour"
    job = await front.job(batch["jobs"][-1]["job"]["id"])
    assert (job["batch_id"], job["spec"]["task"]) == (batch["id"], "task 1")
    assert sorted(await listed(front, batch["id"])) == ["task 0", "task 1"]


async def test_follow_ups_keep_their_order(front):
    first = (await front.client.post("/jobs", json={"task": "first"})).json()["id"]
    jobs = [{**task, "conversation_id": first} for task in tasks(20)]
    jobs[0]["files"] = {"large.txt": "x" * 200_000}  # slower than the jobs after it
    batch = await send(front, jobs)
    assert await listed(front, batch["id"]) == [job["task"] for job in jobs]


async def test_a_repeated_batch_makes_each_job_once(front):
    jobs = tasks(5)
    batch, repeated = await asyncio.gather(send(front, jobs), send(front, jobs))
    assert batch["id"] == repeated["id"]
    ids = [[answer["job"]["id"] for answer in sent["jobs"]] for sent in (batch, repeated)]
    assert ids[0] == ids[1]
    again = await send(front, [*jobs, {"task": "one more"}])
    assert [answer["replayed"] for answer in again["jobs"]] == [True] * 5 + [False]
    changed = await send(front, [{"task": "another"}])
    assert changed["jobs"][0]["problem"]["type"] == "/problems/idempotency-key-reused"
    assert len(await listed(front, batch["id"])) == 6
    assert (await send(front, jobs, {}))["id"] != (await send(front, jobs, {}))["id"]


async def test_the_key_of_another_tenant_is_another_batch(front):
    batch = await send(front, tasks(1))
    secret = await front.key("submit", "read", tenant="acme")
    async with client_of(front.app, secret) as acme:
        answer = await acme.post("/jobs/batch", json={"jobs": tasks(1)}, headers=KEY)
        assert answer.json()["id"] != batch["id"]
        for path in (f"/batches/{batch['id']}", "/batches/none"):
            assert (await acme.get(path)).status_code == 404
        assert (await acme.post(f"/batches/{batch['id']}/cancel")).status_code == 404
        assert (await acme.get(f"/jobs?batch={batch['id']}")).json()["total"] == 0


async def test_a_full_queue_refuses_the_jobs_that_do_not_fit(redis_url, tmp_path):
    async with started(settings_for(redis_url, tmp_path, admit_queued=4)) as front:
        batch = await send(front, tasks(10))
        assert (batch["accepted"], batch["retryable"]) == (4, 6)
        refused = [answer for answer in batch["jobs"] if answer["problem"]]
        assert {answer["problem"]["type"] for answer in refused} == {"/problems/queue-full"}
        for task in (await front.client.get("/jobs")).json()["jobs"]:
            await front.client.post(f"/jobs/{task['id']}/cancel")
        async with asyncio.timeout(20):  # the API remembers the length of the queue for a second
            while (again := await send(front, tasks(10)))["accepted"] < 8:
                await asyncio.sleep(0.2)
        ids = [answer["job"]["id"] for answer in again["jobs"] if answer["job"]]
        assert len(set(ids)) == len(ids)


async def test_a_batch_counts_its_jobs_and_their_cost(front):
    batch = await send(front, tasks(4))
    done_id, running_id, _, queued_id = (answer["job"]["id"] for answer in batch["jobs"])
    await front.finish(done_id)
    lease = await front.claim(running_id)
    charges = [Charge("c1", "planner", "m", 1, 1, "0.25"), Charge("c2", "critic", "m", 1, 1, "0.5")]
    await front.services.store.write(running_id, lease.epoch, Writes(charges=charges))
    read = (await front.client.get(f"/batches/{batch['id']}")).json()
    assert read["counts"] == {"succeeded": 1, "running": 1, "queued": 2}
    assert (read["total"], read["ended"], float(read["cost_usd"])) == (4, False, 0.75)
    cancelled = (await front.client.post(f"/batches/{batch['id']}/cancel")).json()
    assert (cancelled["counts"], cancelled["ended"]) == ({"succeeded": 1, "cancelled": 3}, True)
    assert (await front.job(queued_id))["status"] == "cancelled"
    again = await front.client.post(f"/batches/{batch['id']}/cancel")
    assert (again.status_code, again.json()) == (200, cancelled)


async def test_an_outage_in_the_middle_is_a_problem_of_the_jobs_that_are_left(front, monkeypatch):
    jobs, submit, calls = tasks(30), front.services.operations.submit, 0

    async def fail_after_ten(*args, **options):
        nonlocal calls
        calls += 1
        if calls > 10:
            raise StoreUnavailable("gone")
        return await submit(*args, **options)

    monkeypatch.setattr(front.services.operations, "submit", fail_after_ten)
    batch = await send(front, jobs)
    assert (batch["accepted"], batch["retryable"]) == (10, 20)
    monkeypatch.undo()
    again = await send(front, jobs)
    assert (again["accepted"], sum(answer["replayed"] for answer in again["jobs"])) == (30, 10)
    assert sorted(await listed(front, batch["id"])) == sorted(job["task"] for job in jobs)


async def test_a_batch_has_limits(front):
    assert (await send(front, [], status=422))["errors"][0]["field"] == "jobs"
    assert (await send(front, tasks(501), status=422))["errors"][0]["limit"] == 500
    jobs = [{**task, "steps": ["a", "b"], "model": "groq:x"} for task in tasks(500)]
    assert (await send(front, jobs))["accepted"] == 500
    benchmark = {"task": "x", "model": "groq:x", "benchmark": {"set": "humaneval"}}
    refused = (await send(front, [benchmark], {}))["jobs"][0]["problem"]
    assert refused["errors"][0]["field"].startswith("benchmark")

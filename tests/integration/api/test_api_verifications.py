"""Verifications over HTTP: requests, refusals, and the job that a worker gets."""

from __future__ import annotations

import pytest
from support.pages.api_front import settings_for, started

from jobs.blobs import manifest
from jobs.model.review import Review, ReviewKind

CHECKS = {"files": {"test_a.py": "def test_a():\n    assert True\n"}}
BODY = {"files": {"solution.py": "x = 1\n"}, "checks": CHECKS}


@pytest.fixture
async def front(redis_url, tmp_path):
    async with started(settings_for(redis_url, tmp_path)) as front:
        yield front


async def test_a_verification_is_a_separate_kind_of_job(front):
    answer = await front.client.post("/verifications", json={**BODY, "labels": ["hidden"]})
    assert answer.status_code == 202
    receipt = answer.json()
    assert answer.headers["location"] == f"/jobs/{receipt['id']}"
    assert receipt["status"] == "queued"
    assert receipt["kind"] == "verification"
    receipt = await front.job(receipt["id"])
    assert receipt["spec"]["kind"] == "verification"
    assert receipt["spec"]["task"] == "Verification by test_a.py"
    assert receipt["spec"]["labels"] == ["hidden"]
    assert receipt["spec"]["checks"] == {"files": ["test_a.py"], "command": None, "cases": []}
    assert receipt["checks"] is None


async def test_the_base_is_a_jobs_workspace_with_the_files_applied(front):
    base = await front.submit(files={"solution.py": "old", "data.txt": "kept"})
    answer = await front.client.post("/verifications", json={**BODY, "job_id": base})
    record = (await front.services.store.load(answer.json()["id"])).record
    files = (await manifest.load(front.services.blobs, record.spec.workspace)).files
    texts = {path: await front.services.blobs.get(entry.digest) for path, entry in files.items()}
    assert texts == {"solution.py": b"x = 1\n", "data.txt": b"kept"}
    assert record.conversation_id == record.id
    # the files of the base are stored as long as the verification, even if the base is removed
    digests = await front.services.store.redis.smembers(f"fettle:job:{record.id}:blobs")
    assert {entry.digest.encode() for entry in files.values()} <= digests


async def test_another_tenants_job_is_no_base(front):
    base = await front.submit()
    async with front.with_key(await front.key("submit", tenant="elsewhere")) as other_client:
        answer = await other_client.post("/verifications", json={**BODY, "job_id": base})
        assert answer.status_code == 404


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "checks"),
        ({"checks": {"command": "pytest", "cases": [{"argv": ["a"]}]}}, "checks"),
        ({"checks": {"files": {".fettle/cases.json": ""}}}, "checks.files..fettle/cases.json"),
        ({"checks": {"cases": [{"argv": ["a"]}] * 51}}, "checks.cases"),
        ({"checks": {"cases": [{"argv": []}]}}, "checks.cases.0.argv"),
        ({"checks": {"cases": [{"argv": ["a"], "exit_code": 256}]}}, "checks.cases.0.exit_code"),
        (
            {"checks": {"cases": [{"argv": ["a"], "files": {"../a": ""}}]}},
            "checks.cases.0.files.../a",
        ),
        (
            {"checks": {"cases": [{"argv": ["a"], "name": "2"}, {"argv": ["b"]}]}},
            "checks.cases.1.name",
        ),
        ({"checks": {"files": {"test_a.py": "x" * (512 * 1024 + 1)}}}, "checks.files"),
        ({"checks": {"files": {"a": "", "a/b.py": ""}}}, "checks.files.a/b.py"),
        ({"checks": {**CHECKS, "command": "pytest 'x"}}, "checks.command"),
        ({"checks": CHECKS, "files": {"/etc/x": ""}}, "files./etc/x"),
        ({"checks": CHECKS, "model": "groq:x"}, "model"),
    ],
)
async def test_an_impossible_verification_is_refused_with_the_reason(front, body, field):
    answer = await front.client.post("/verifications", json=body)
    assert answer.status_code == 422, answer.text
    assert field in [error["field"] for error in answer.json()["errors"]]


async def test_files_that_conflict_with_the_base_are_named(front):
    base = await front.submit(files={"a": "a file"})
    body = {"job_id": base, "files": {"a/b.py": ""}, "checks": CHECKS}
    answer = await front.client.post("/verifications", json=body)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["field"] == "files.a/b.py"


async def test_the_cases_of_a_job_can_be_downloaded(front):
    cases = [{"argv": ["a"], "stdout": "1"}, {"argv": ["b"], "name": "b", "files": {"./x": "2"}}]
    checks = {**CHECKS, "cases": cases}
    answer = await front.client.post("/jobs", json={"task": "add", "checks": checks})
    assert answer.status_code == 202, answer.text
    spec = (await front.job(answer.json()["id"]))["spec"]
    assert spec["checks"]["cases"] == ["case 1", "case b"]
    assert spec["checks"]["files"] == ["test_a.py"]
    cases_path = f"/jobs/{answer.json()['id']}/files/.fettle/cases.json?at=checks"
    cases[1]["files"] = {"x": "2"}
    assert (await front.client.get(cases_path)).json() == cases


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"checks": {**CHECKS, "command": "pytest 'x"}}, "checks.command"),
        ({"questions": True, "questions_expire_seconds": 0}, "questions_expire_seconds"),
    ],
)
async def test_invalid_cases_are_named(front, body, field):
    answer = await front.client.post("/jobs", json={"task": "add", **body})
    assert answer.status_code == 422, answer.text
    assert field in [error["field"] for error in answer.json()["errors"]]


async def test_questions_are_answered_at_the_review(front):
    payload = {"task": "add", "questions": [{"question": "Which?", "default": "Both."}]}
    job_id = await front.submit(questions=True)
    lease = await front.claim(job_id)
    await front.services.operations.pause(lease, Review("q1", ReviewKind.QUESTIONS, payload))
    path = f"/jobs/{job_id}/review"
    refused = await front.client.post(path, json={"action": "approve"})
    assert (refused.status_code, refused.json()["type"]) == (409, "/problems/decision-not-offered")
    odd = await front.client.post(path, json={"action": "approve", "answers": ["x"]})
    assert odd.json()["errors"][0]["field"] == "answers"
    answer = await front.client.post(path, json={"action": "answer", "answers": ["This."]})
    assert answer.status_code == 202, answer.text
    assert (await front.job(job_id))["decisions"][0]["answers"] == ["This."]
    again = await front.client.post(path, json={"action": "answer", "answers": ["That."]})
    assert again.status_code == 409  # J10

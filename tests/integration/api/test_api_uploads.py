"""Files of any kind as parts of a form: stored byte for byte, or refused with a reason."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os

import pytest
from support.pages.api_front import settings_for, started

MIB = 1024 * 1024
BINARY = bytes(range(256))
JOB = ("job", (None, json.dumps({"task": "look at it", "files": {"note.txt": "see data"}})))


@pytest.fixture
async def front(redis_url, tmp_path):
    async with started(settings_for(redis_url, tmp_path)) as front:
        yield front


def file(path, content):
    return "files", (path, content)


async def problem(front, *parts, **options):
    answer = await front.client.post("/jobs", files=[*parts], **options)
    assert answer.headers["content-type"] == "application/problem+json"
    return answer.status_code, answer.json()


async def test_files_of_any_kind_are_the_jobs_first_workspace(front):
    large = os.urandom(MIB) * 100
    # the limit is for all files together
    parts = [JOB, file("data/sales.xlsx", BINARY), file("large.bin", large[: -len(BINARY) - 8])]
    answer = await front.client.post("/jobs", files=parts)
    assert answer.status_code == 202, answer.text
    job_id = answer.json()["id"]
    listed = (await front.client.get(f"/jobs/{job_id}/files?at=start")).json()["files"]
    sizes = {file_json["path"]: file_json["size"] for file_json in listed}
    assert sizes == {"data/sales.xlsx": 256, "large.bin": 100 * MIB - 264, "note.txt": 8}
    content = await front.client.get(f"/jobs/{job_id}/files/data/sales.xlsx?at=start")
    assert content.content == BINARY
    content = await front.client.get(f"/jobs/{job_id}/files/large.bin?at=start")
    assert content.content == large[: -len(BINARY) - 8]


async def test_the_json_part_may_be_a_file_too(front):
    job = ("job", ("job.json", json.dumps({"task": "t"}).encode(), "application/json"))
    answer = await front.client.post("/jobs", files=[job, file("a.bin", BINARY)])
    assert answer.status_code == 202, answer.text


async def test_a_repeated_upload_is_the_same_job_unless_a_file_differs(front):
    headers = {"Idempotency-Key": "once"}
    first, again = [
        await front.client.post("/jobs", files=[JOB, file("a", BINARY)], headers=headers)
        for _ in range(2)
    ]
    assert first.json()["id"] == again.json()["id"]
    assert again.headers["idempotency-replayed"] == "true"
    status, detail = await problem(front, JOB, file("a", BINARY[1:]), headers=headers)
    assert (status, detail["type"]) == (422, "/problems/idempotency-key-reused")


async def test_a_fault_is_reported_with_the_setting_that_limits(redis_url, tmp_path):
    settings = settings_for(
        redis_url, tmp_path, max_files=2, max_files_bytes=4 * MIB, max_body_bytes=2_000
    )
    async with started(settings) as front:
        status, detail = await problem(front, JOB, file("a", b"x" * 4 * MIB))
        most = "files: all files may have at most 4194304 bytes (FETTLE_MAX_FILES_BYTES)"
        assert (status, detail["detail"]) == (422, f"{most}, not {4 * MIB + 8}")
        status, detail = await problem(front, JOB, file("a", b"x" * 9 * MIB))
        assert (status, detail["type"]) == (413, "/problems/body-too-large")
        assert "FETTLE_MAX_FILES_BYTES" in detail["detail"]
        for count in (2, 9):  # in addition to the file in the JSON
            status, detail = await problem(front, JOB, *(file(f"f{n}", b"") for n in range(count)))
            assert (status, detail["errors"][0]["field"]) == (422, "files")
            assert "at most 2 files (FETTLE_MAX_FILES)" in detail["detail"]
        long = ("job", (None, json.dumps({"task": "t", "labels": ["x"], "steps": ["y" * 1_990]})))
        status, detail = await problem(front, long)
        assert status in (400, 413)
        as_json = {"task": "t", "files": {"a": "x" * 5 * MIB}}
        answer = await front.client.post("/jobs", json=as_json)
        assert answer.status_code == 413
        assert "as JSON: send larger files as multipart/form-data" in answer.json()["detail"]


async def test_parts_without_a_job_are_refused(front):
    status, detail = await problem(front, file("a", b""))
    assert (status, detail["errors"][0]["field"]) == (422, "job")
    status, detail = await problem(front, JOB, file("../a", BINARY))
    assert (status, detail["errors"][0]["field"]) == (422, "files.../a")
    assert (await problem(front, JOB, file("a", b""), file("a", b"")))[0] == 422
    status, detail = await problem(front, JOB, file("note.txt", b""))
    assert "is the same file as 'note.txt'" in detail["detail"]
    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    for torn in (b"--x\r\nno", b'--x\r\nContent-Disposition: form-data; name="job"\r\n\r\n{}'):
        answer = await front.client.post("/jobs", content=torn, headers=headers)
        assert (answer.status_code, answer.json()["type"]) == (400, "/problems/bad-request")
    plain = {"Content-Type": "multipart/form-data"}
    assert (await front.client.post("/jobs", content=b"", headers=plain)).status_code == 400


async def test_a_sender_that_falls_silent_is_cut_off(redis_url, tmp_path):
    async with started(settings_for(redis_url, tmp_path, body_seconds=0.3)) as front:

        async def slow():
            yield b'--x\r\nContent-Disposition: form-data; name="files"; filename="a"\r\n\r\n'
            await asyncio.sleep(30)

        headers = {"Content-Type": "multipart/form-data; boundary=x"}
        answer = await front.client.post("/jobs", content=slow(), headers=headers)
        assert (answer.status_code, answer.json()["type"]) == (408, "/problems/body-too-slow")


async def test_a_document_describes_both_ways(front):
    described = (await front.client.get("/openapi.json")).json()
    content = described["paths"]["/jobs"]["post"]["requestBody"]["content"]
    assert content.keys() == {"application/json", "multipart/form-data"}
    form = content["multipart/form-data"]["schema"]["properties"]
    assert form["job"] == content["application/json"]["schema"]


async def test_a_file_that_a_job_has_need_not_be_sent_again(redis_url, tmp_path):
    async with started(settings_for(redis_url, tmp_path, max_files_bytes=600)) as front:
        sent = await front.client.post("/jobs", files=[JOB, file("a.bin", BINARY)])
        first = sent.json()["id"]
        listed = (await front.client.get(f"/jobs/{first}/files")).json()["files"]
        digests = {file_json["path"]: file_json["digest"] for file_json in listed}
        again = {"digest": digests["a.bin"], "job_id": first}
        files = {"data/b.bin": again, "new.txt": "text"}
        answer = await front.client.post("/jobs", json={"task": "t", "files": files})
        assert answer.status_code == 202, answer.text
        job_id = answer.json()["id"]
        downloaded = await front.client.get(f"/jobs/{job_id}/files/data/b.bin")
        assert downloaded.content == BINARY
        listed_files = (await front.client.get(f"/jobs/{job_id}/files")).json()["files"]
        assert [file_json["path"] for file_json in listed_files] == ["data/b.bin", "new.txt"]
        for wrong, status, message in (
            ({"x": {**again, "digest": "0" * 64}}, 422, "has no file with this digest"),
            ({"x": {**again, "job_id": "0" * 20}}, 404, "does not exist"),
            ({"x": {"digest": digests["a.bin"]}}, 422, "job_id"),
            ({"../x": again}, 422, "files.../x"),
            ({"x": again, "y": again, "z": again}, 422, "(FETTLE_MAX_FILES_BYTES), not 768"),
        ):
            answer = await front.client.post("/jobs", json={"task": "t", "files": wrong})
            assert (answer.status_code, message in answer.text) == (status, True), answer.text


async def test_a_digest_does_not_give_access_to_another_tenants_file(front):
    sent = await front.client.post("/jobs", files=[JOB, file("a.bin", BINARY)])
    first = sent.json()["id"]
    digest = hashlib.sha256(BINARY).hexdigest()
    key_request = {"name": "x", "scopes": ["submit", "read", "admin"], "tenant": "other"}
    key = (await front.client.post("/keys", json=key_request)).json()["secret"]
    body = {"task": "t", "files": {"a.bin": {"digest": digest, "job_id": first}}}
    answer = await front.client.post("/jobs", json=body, headers={"X-API-Key": key})
    assert answer.status_code == 404, answer.text

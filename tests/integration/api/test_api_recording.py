"""Recordings over HTTP."""

from __future__ import annotations

import pytest
import yaml
from support.pages.api_front import RESULT, done, settings_for, started

from jobs.blobs import manifest
from jobs.store import Writes


@pytest.fixture
async def front(redis_url, tmp_path):
    async with started(settings_for(redis_url, tmp_path)) as front:
        yield front


async def test_the_recording_has_the_turns_of_all_calls(front):
    job_id = await front.submit(record=True)
    path = f"/jobs/{job_id}/recording"
    assert (await front.job(job_id))["spec"]["record"] is True
    assert (await front.job(job_id))["links"]["recording"] == path
    missing = await front.client.get(path)
    assert missing.status_code == 404
    assert "was not recorded" in missing.json()["detail"]

    lease = await front.claim(job_id)
    turns = [await front.services.blobs.put(f"- role: {role}\n".encode()) for role in ("a", "b")]
    calls = [("model_called", {"model": "groq:m", "recorded": digest}) for digest in turns]
    await front.add_events(lease, calls[0], ("answered", {}), calls[1])
    answer = await front.client.get(path)
    assert answer.headers["content-type"] == "application/yaml"
    assert answer.headers["content-disposition"].startswith("attachment")
    assert yaml.safe_load(answer.content) == {
        "about": f"Job {job_id}, answered by groq:m. Secrets are removed.",
        "strict": True,
        "turns": [{"role": "a"}, {"role": "b"}],
    }


async def test_the_initial_files_of_a_job_can_still_be_read(front):
    job_id = await front.submit(files={"a.py": "1"})
    await front.finish(job_id)
    listed = (await front.client.get(f"/jobs/{job_id}/files?at=start")).json()["files"]
    assert [file["path"] for file in listed] == ["a.py"]
    assert (await front.client.get(listed[0]["href"])).text == "1"
    assert (await front.client.get(f"/jobs/{job_id}/files?at=noon")).status_code == 422


async def test_a_follow_up_starts_from_the_files_of_the_previous_job(front):
    first = await front.submit(files={"a.py": "1", "b.py": "1"})
    await _finish(front, first, {"a.py": b"1", "b.py": b"1"})
    second = await front.submit(conversation_id=first, files={"b.py": "2"})
    started_from = {first: {"a.py": "1", "b.py": "1"}, second: {"a.py": "1", "b.py": "2"}}
    await _assert_started_from(front, started_from)
    await _finish(front, second, {"c.py": b"3"})
    third = await front.submit(conversation_id=first)
    await _assert_started_from(front, {**started_from, third: {"c.py": "3"}})


async def _finish(front, job_id, files):
    """Store the files, and succeed."""
    lease = await front.claim(job_id)
    workspace = await manifest.save(front.services.blobs, files)
    await front.services.store.write(job_id, lease.epoch, Writes(workspace=workspace))
    done(await front.services.operations.succeed(lease, RESULT, "done"))


async def _assert_started_from(front, expected):
    for job_id, files in expected.items():
        listed = (await front.client.get(f"/jobs/{job_id}/files?at=start")).json()["files"]
        read = {file["path"]: (await front.client.get(file["href"])).text for file in listed}
        assert read == files

"""Which secrets are known, and the result if no file can be written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agents.redaction import Redaction
from jobs.blobs.directory import DirectoryBlobs
from jobs.model.events import NewEvent
from jobs.model.record import JobRecord
from jobs.model.spec import JobSpec
from jobs.service import Operations, Submission
from jobs.store import Writes
from jobs.store.redis_store import RedisStore
from jobs.view.recording import build_recording
from settings.worker import WorkerSettings
from worker.adapters.recordings import Recordings, redaction


def test_every_secret_setting_and_password_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FETTLE_REDIS_URL", "redis://me:p%40ssword-1@127.0.0.1:1/0")
    monkeypatch.setenv("FETTLE_BROKER_URL", "redis+socket:///tmp/x?virtual_host=1")
    monkeypatch.setenv("GROQ_API_KEY", "groq-word")
    monkeypatch.setenv("GOOGLE_API_KEY", "google-word")
    monkeypatch.setenv("FETTLE_BLOBS_BUCKET", "jobs")
    monkeypatch.setenv("FETTLE_S3_ACCESS_KEY", "storage-name")
    monkeypatch.setenv("FETTLE_S3_SECRET_KEY", "storage-word")
    words = "p@ssword-1 groq-word google-word storage-name storage-word and the rest"
    redacted = redaction(WorkerSettings()).text(words)
    assert redacted == f"{'<secret-removed> ' * 5}and the rest"


async def recorded(store: RedisStore, blobs: DirectoryBlobs, **spec: Any) -> JobRecord:
    """A running job with one recorded call."""
    operations = Operations(store, lambda *_: None)
    submitted = await operations.submit("default", JobSpec(task="x", **spec), by="me")
    assert isinstance(submitted, Submission)
    record = await operations.claim(submitted.record.id, "worker")
    assert isinstance(record, JobRecord)
    call = {"model": "groq:m", "recorded": await blobs.put(b"- role: planner\n")}
    writes = Writes(events=[NewEvent("a", "model_called", call)])
    await store.write(record.id, record.epoch, writes)
    return record


async def test_a_file_that_cannot_be_written_fails_no_job(
    tmp_path: Path, redis_store: RedisStore
) -> None:
    store, blobs = redis_store, DirectoryBlobs(tmp_path / "blobs")
    record = await recorded(store, blobs)
    (tmp_path / "no-folder").write_text("")
    await Recordings(tmp_path / "no-folder", Redaction()).write(record, store, blobs)
    await Recordings(tmp_path / "new" / "er", Redaction()).write(record, store, blobs)
    (file,) = (tmp_path / "new" / "er").iterdir()
    assert file.name == f"{record.id}.yaml"
    assert file.read_bytes() == await build_recording(
        record.id, await store.events(record.id), blobs
    )
    assert file.stat().st_mode & 0o077 == 0

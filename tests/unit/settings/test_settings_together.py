"""Contradictory settings: the error names both settings, the reason, and a value that works."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from jobs.blobs.directory import open_blobs
from settings.api import ApiSettings
from settings.base import FettleSettings
from settings.starting.provenance import complaints
from settings.worker import WorkerSettings


@pytest.fixture(autouse=True)
def own_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FETTLE_CONFIG", "")


def set_settings(monkeypatch: pytest.MonkeyPatch, words: str) -> None:
    for word in words.split():
        name, _, value = word.partition("=")
        monkeypatch.setenv(f"FETTLE_{name}", value)


def refusal(monkeypatch: pytest.MonkeyPatch, kind: type[FettleSettings], words: str) -> str:
    set_settings(monkeypatch, words)
    with pytest.raises(ValidationError) as raised:
        kind()
    (message,) = complaints(kind, raised.value)
    return message


@pytest.mark.parametrize(
    ("words", "reason", "remedy"),
    [
        ("LEASE_SECONDS=7", "one late heartbeat", "Set the lease to 10 or more"),
        ("HEARTBEAT_SECONDS=8", "one late heartbeat", "the heartbeat to 7.5 or less"),
        (
            "HEARTBEAT_SECONDS=11 LEASE_SECONDS=60",
            "count as stopped after one late heartbeat",
            "10 or less",
        ),
        (
            "ENV=production MAX_TIMEOUT_SECONDS=172800",
            "files of a running job could be removed",
            "Set it to 345720",
        ),
        ("SANDBOX_RUNTIME=runsc", "code would run without it", "FETTLE_SANDBOX=docker"),
        ("S3_ENDPOINT=https://s3.example", "names none", "set FETTLE_BLOBS_BUCKET"),
    ],
)
def test_a_worker_refuses(
    monkeypatch: pytest.MonkeyPatch, words: str, reason: str, remedy: str
) -> None:
    message = refusal(monkeypatch, WorkerSettings, words)
    assert message.startswith("FETTLE_")
    assert reason in message
    assert remedy in message


@pytest.mark.parametrize(
    ("words", "reason", "remedy"),
    [
        ("REDIS_REPLICAS=1 REDIS_SECONDS=1", "the replicas alone", "set it to 2"),
        (
            "REVIEW_APPROVALS=2 REVIEW_ON_EXPIRY=approve",
            "expiry is not a person's approval",
            "set it to reject or stay",
        ),
        (
            "REVIEW_REMIND_SECONDS=60 REVIEW_ESCALATE_SECONDS=60",
            "the reminder would come after the escalation",
            "set it to less than",
        ),
    ],
)
def test_the_api_refuses(
    monkeypatch: pytest.MonkeyPatch, words: str, reason: str, remedy: str
) -> None:
    message = refusal(monkeypatch, ApiSettings, words)
    assert reason in message
    assert remedy in message


@pytest.mark.parametrize(
    "wrong",
    [
        {"blobs_bucket": "jobs/a//b"},
        {"blobs_bucket": "jobs/../b"},
        {"blobs_bucket": "jobs/."},
        {"blobs_bucket": "jobs", "s3_access_key": "key", "s3_secret_key": "secret\n"},
        {"blobs_bucket": "jobs", "s3_access_key": "a key", "s3_secret_key": "secret"},
    ],
)
def test_a_bucket_that_the_library_would_refuse_is_refused(wrong: dict[str, str]) -> None:
    with pytest.raises(ValidationError) as raised:
        WorkerSettings(**wrong)  # type: ignore[arg-type]
    assert "secret" not in str(complaints(WorkerSettings, raised.value)).replace("S3_SECRET", "")


@pytest.mark.parametrize("name", ["jobs", "jobs/", "jobs/a..b/.c/d/"])
def test_an_accepted_bucket_can_be_opened(name: str, tmp_path: Path) -> None:
    settings = WorkerSettings(blobs_bucket=name, s3_access_key="", s3_secret_key="")  # type: ignore[arg-type]
    open_blobs(tmp_path, settings.bucket())


@pytest.mark.parametrize(
    "words",
    [
        "LEASE_SECONDS=2 HEARTBEAT_SECONDS=0.5",
        "HEARTBEAT_SECONDS=30 LEASE_SECONDS=60 WORKER_SEEN_SECONDS=60",
        "ENV=production MAX_TIMEOUT_SECONDS=172800 BLOB_GRACE_SECONDS=345720",
        "SANDBOX=docker SANDBOX_RUNTIME=runsc",
        "SANDBOX=docker SANDBOX_ENGINE=tcp://engine:2376 SANDBOX_ENGINE_TLS=/certs",
        "LOG_LEVEL=warn LOG_FORMAT=JSON",
        "KEY_TOKENS_PER_DAY=1",  # so that only keys with their own budgets may spend money
    ],
)
def test_a_worker_accepts(monkeypatch: pytest.MonkeyPatch, words: str) -> None:
    set_settings(monkeypatch, words)
    WorkerSettings()

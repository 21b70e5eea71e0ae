"""A worker warns where bytes may be removed under an attempt that has put them."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from settings.worker import WorkerSettings
from worker.background.retention import wanted


@pytest.mark.parametrize(
    ("grace", "warned"), [("86400", False), ("3661", False), ("3660", True), ("600", True)]
)
def test_a_grace_period_is_longer_than_any_attempt(
    monkeypatch: pytest.MonkeyPatch, grace: str, warned: bool
) -> None:
    monkeypatch.setenv("FETTLE_BLOB_GRACE_SECONDS", grace)
    with capture_logs() as said:
        assert wanted(WorkerSettings()).grace_ms == int(grace) * 1000
    assert [each["longest_attempt_seconds"] for each in said] == [3660.0] * warned


def test_a_longer_job_needs_a_longer_grace_period(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FETTLE_MAX_TIMEOUT_SECONDS", "86400")
    with capture_logs() as said:
        wanted(WorkerSettings())
    assert [each["log_level"] for each in said] == ["warning"]

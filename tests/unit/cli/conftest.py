"""Fixtures for the tests of the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from support.servers.tiny_service import Answer, TinyService, event, job, serving, stream

from cli.main import run


@pytest.fixture
def tiny() -> Iterator[TinyService]:
    with serving() as service:
        yield service


@pytest.fixture
def finished(tiny: TinyService) -> TinyService:
    """A small service with a job that was submitted and followed, and that succeeded."""
    fields = {"by": "me", "task": "x", "review": False, "model": None, "priority": "normal"}
    events = stream(event(1, "submitted", **fields), event(2, "succeeded", approved_by="critic"))
    tiny.on("POST /jobs", Answer(202, job(status="queued")))
    tiny.on("GET /jobs/j1/events", events)
    tiny.on("GET /jobs/j1", Answer(200, job()))
    return tiny


@pytest.fixture
def fettle(
    tiny: TinyService, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Run the command against the small service; returns the exit code, stdout and stderr."""

    def call(*args: str) -> tuple[int, str, str]:
        code = run(["--url", tiny.url, *args])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


@pytest.fixture(autouse=True)
def own_settings(monkeypatch, tmp_path) -> None:
    """Hide the settings of the machine and of the user."""
    for name in ("FETTLE_URL", "FETTLE_API_KEY", "FETTLE_REDIS_URL", "FETTLE_BROKER_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("FETTLE_CONFIG", "")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "nothing"))

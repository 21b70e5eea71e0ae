from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from jobs.model.spec import JobSpec
from settings.starting.provenance import complaints
from settings.worker import WorkerSettings
from worker.adapters.backend import limits


@pytest.fixture(autouse=True)
def own_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FETTLE_CONFIG", "")


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("FETTLE_SANDBOX", "host", "should be 'local' or 'docker'"),
        ("FETTLE_SANDBOX", "", "should be 'local' or 'docker'"),
        ("FETTLE_SANDBOX_ENGINE", "http://engine", "begins with unix:// or tcp://"),
        ("FETTLE_SANDBOX_ROOMS", "-1", "greater than or equal to 0"),
        ("FETTLE_RUN_CPUS", "0", "greater than 0"),
    ],
)
def test_an_invalid_value_is_named_with_its_variable(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, message: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(ValidationError) as raised:
        WorkerSettings()
    (complaint,) = complaints(WorkerSettings, raised.value)
    assert complaint.startswith(f"{variable} (environment): ")
    assert message in complaint


@pytest.mark.parametrize(
    ("settings", "requested_seconds", "seconds"),
    [
        ("", None, 20),  # with 15 s of wall time
        ("RUN_SECONDS=300", None, 305),
        ("RUN_SECONDS=300 RUN_CPUS=2", None, 605),
        ("RUN_SECONDS=0.5 RUN_CPUS=0.5", None, 6),
        ("RUN_SECONDS=300 RUN_CPU_SECONDS=20", None, 20),
        ("RUN_SECONDS=300 RUN_CPU_SECONDS=20", 60, 65),
    ],
)
def test_processor_time_moves_with_the_time_of_a_run(
    monkeypatch: pytest.MonkeyPatch, settings: str, requested_seconds: int | None, seconds: int
) -> None:
    for word in settings.split():
        name, _, value = word.partition("=")
        monkeypatch.setenv(f"FETTLE_{name}", value)
    allowed = limits(WorkerSettings(), JobSpec("x", run_seconds=requested_seconds))
    assert allowed.cpu_seconds == seconds
    assert allowed.wall_seconds == (requested_seconds or WorkerSettings().run_seconds)

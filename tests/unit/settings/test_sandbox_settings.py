from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from settings.provenance import complaints
from settings.worker import WorkerSettings


@pytest.fixture(autouse=True)
def own_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FETTLE_CONFIG", str(tmp_path / "fettle.toml"))


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("FETTLE_SANDBOX", "host", "should be 'local' or 'docker'"),
        ("FETTLE_SANDBOX", "", "should be 'local' or 'docker'"),
        ("FETTLE_SANDBOX_ENGINE", "http://engine", "should match pattern"),
        ("FETTLE_SANDBOX_ROOMS", "-1", "greater than or equal to 0"),
        ("FETTLE_RUN_CPUS", "0", "greater than 0"),
    ],
)
def test_what_does_not_fit_is_named(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, said: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(ValidationError) as raised:
        WorkerSettings()
    (complaint,) = complaints(WorkerSettings, raised.value)
    assert complaint.startswith(f"{variable} (environment): ")
    assert said in complaint

"""Where a worker can be made to die: settings, and which change of a job each point stands for."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from settings.api import ApiSettings
from settings.worker import WorkerSettings
from worker.fail_points import Written


def test_every_point_can_be_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for side in ("before", "after"):
        for written in Written:
            monkeypatch.setenv("FETTLE_FAIL_POINT", f"{side}_{written}:12")
            assert WorkerSettings().fail_point == f"{side}_{written}:12"
    monkeypatch.setenv("FETTLE_FAIL_POINT", "before_claim:1:stuck")
    assert WorkerSettings().fail_point == "before_claim:1:stuck"
    monkeypatch.delenv("FETTLE_FAIL_POINT")
    assert WorkerSettings().fail_point is None


@pytest.mark.parametrize(
    "wrong", ["claim", "before_claim:0", "before_claim:stuck", "before_claim:", "after_lunch", ""]
)
def test_no_other_can(monkeypatch: pytest.MonkeyPatch, wrong: str) -> None:
    monkeypatch.setenv("FETTLE_FAIL_POINT", wrong)
    with pytest.raises(ValidationError):
        WorkerSettings()


@pytest.mark.parametrize(
    ("settings", "point"), [(WorkerSettings, "before_claim"), (ApiSettings, "after_accept:3")]
)
def test_production_refuses_them(
    monkeypatch: pytest.MonkeyPatch, settings: type[WorkerSettings | ApiSettings], point: str
) -> None:
    monkeypatch.setenv("FETTLE_FAIL_POINT", point)
    assert settings().fail_point == point
    monkeypatch.setenv("FETTLE_ENV", "production")
    with pytest.raises(ValidationError, match="no place in production"):
        settings()

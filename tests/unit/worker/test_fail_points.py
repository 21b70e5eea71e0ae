"""Where a worker can be made to die: settings, and which change of a job each point stands for."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from jobs.model.record import Status
from settings.worker import WorkerSettings
from worker.fail_points import Written, step


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


def test_production_refuses_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FETTLE_FAIL_POINT", "before_claim")
    monkeypatch.setenv("FETTLE_ENV", "production")
    with pytest.raises(ValidationError, match="no place in production"):
        WorkerSettings()


@pytest.mark.parametrize(
    ("before", "after", "written"),
    [
        (Status.QUEUED, Status.RUNNING, Written.CLAIM),
        (Status.QUEUED, Status.QUEUED, None),  # one more hint
        (Status.RUNNING, Status.QUEUED, Written.RELEASE),
        (Status.RUNNING, Status.AWAITING_REVIEW, Written.PAUSE),
        *((Status.RUNNING, final, Written.END) for final in Status if final.final),
    ],
)
def test_a_change_of_status_is_a_point(before: Status, after: Status, written: object) -> None:
    assert step(before, after) is written

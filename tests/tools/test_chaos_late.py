"""What a chaos run says where the machine was too busy."""

from __future__ import annotations

from drills.chaos.checks.checker import Violation
from drills.chaos.report import late_alone


def test_jobs_that_went_on_late_are_distinguished_from_worse() -> None:
    late, lost = Violation("J8", "j1", "ran again 9 s after"), Violation("J1", "j2", "is gone")
    assert late_alone([late, late])
    assert not late_alone([late, lost])
    assert not late_alone([])

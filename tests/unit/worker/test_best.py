"""The best result of a job that ends early."""

from __future__ import annotations

from typing import Any

from worker.best import best


def test_the_report_of_its_checks_stays() -> None:
    report = {"revision": 1, "tests": [{"id": "t", "outcome": "failed"}]}
    values: dict[str, Any] = {
        "job": {"task": "Add."},
        "revision": 1,
        "answers": [{"revision": 1, "text": "Sums.", "workspace": None}],
        "runs": [],
        "checked": report,
    }
    result = best(values, [])
    assert result is not None
    assert (result.answer, result.checks) == ("Sums.", report)

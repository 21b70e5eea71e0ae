"""How a job ends whose graph has come to its end."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from agents.graph.outcome import Outcome
from jobs.model.spec import CheckSpec, JobSpec, OnExhausted
from worker.outcome import result_of, why_unapproved

ENDED = Outcome(
    approved=False,
    answer="this is all",
    approved_by=None,
    override=False,
    artifacts=(),
    summary="Not approved.",
    exhausted=True,
)
ACCEPT = JobSpec("t", on_exhausted=OnExhausted.ACCEPT)
CHECKED = replace(ACCEPT, checks=CheckSpec("m", ("test_it.py",)))
PASSED = {"passed": True, "tests": [{"outcome": "passed"}]}
FAILED = {"passed": False, "tests": [{"outcome": "passed"}, {"outcome": "failed"}]}
REPORT = "its acceptance checks do not pass (1 of 2 tests do)"


def test_what_was_approved_succeeds_whatever_was_asked_for() -> None:
    approved = replace(ENDED, approved=True, approved_by="ann", checks=FAILED)
    assert why_unapproved(JobSpec("t"), approved) is None
    assert result_of(approved).approved_by == "ann"


@pytest.mark.parametrize("ended", [ENDED, replace(ENDED, exhausted=False)])
def test_what_nobody_approved_fails_by_default(ended: Outcome) -> None:
    assert why_unapproved(JobSpec("t"), ended) == "not approved within 3 revisions"
    assert why_unapproved(JobSpec("t", repair=False), ended) == "not approved within 1 revision"


@pytest.mark.parametrize(
    ("spec", "report", "why"),
    [
        (ACCEPT, None, None),
        (CHECKED, PASSED, None),
        (CHECKED, FAILED, REPORT),
        (CHECKED, None, "its acceptance checks have not run"),
        (replace(ACCEPT, write_tests=True), None, None),
        (replace(ACCEPT, write_tests=True), FAILED, REPORT),
    ],
)
def test_a_wish_to_accept_holds_only_while_no_check_fails(
    spec: JobSpec, report: dict[str, Any] | None, why: str | None
) -> None:
    said = why_unapproved(spec, replace(ENDED, checks=report))
    assert said == (why and f"not approved within 3 revisions; {why}")


def test_the_detail_says_all_that_stands_in_the_way() -> None:
    ended = replace(ENDED, ends="two revisions in a row had the same result", checks=FAILED)
    said = why_unapproved(CHECKED, ended)
    assert said == f"not approved: two revisions in a row had the same result; {REPORT}"

"""What holds for a job's reviews: its own word, else the operator's."""

from __future__ import annotations

from dataclasses import replace

import pytest

from api.problems import Refused
from api.schemas.job_request import JobRequest
from api.submission.job_requests import rebased, within_policy
from api.submission.review_policy import (
    delivery_errors,
    policy,
    policy_errors,
    unreviewed_errors,
)
from jobs.model.spec import Deliver, JobSpec, OnExpiry, Pause
from settings.api import ApiSettings

PLAIN = ApiSettings()


def test_without_a_word_of_anyone_a_review_waits_for_one_person_for_ever():
    assert policy(JobRequest(task="x"), PLAIN) == {
        "approvals": 1,
        "pause": Pause.BEFORE_CRITIC,
        "review_expires_seconds": None,
        "on_expiry": OnExpiry.STAY,
        "review_remind_seconds": None,
        "review_escalate_seconds": None,
    }


def test_the_operators_word_holds_where_the_job_has_none():
    settings = ApiSettings(
        review_expires_seconds=60,
        review_on_expiry="reject",
        review_pause="every_run",
        review_remind_seconds=10,
    )
    meant = policy(JobRequest(task="x", review_expires_seconds=90), settings)
    assert (meant["review_expires_seconds"], meant["on_expiry"]) == (90, OnExpiry.REJECT)
    assert (meant["pause"], meant["review_remind_seconds"]) == (Pause.EVERY_RUN, 10)


def test_what_does_not_go_together_is_named():
    def fields(settings: ApiSettings = PLAIN, **asked: object) -> list[str]:
        request = JobRequest.model_validate({"task": "x", **asked}, strict=False)
        return [error.field for error in policy_errors(request, settings)]

    assert fields(on_expiry="reject") == ["on_expiry"]
    assert fields(on_expiry="approve", review_expires_seconds=9, approvals=2) == ["on_expiry"]
    assert fields(on_expiry="stay") == []
    assert fields(ApiSettings(review_approvals=2), approvals=1) == ["approvals"]
    assert fields(ApiSettings(review_approvals=2)) == []
    assert fields(ApiSettings(review_on_expiry="approve"), approvals=2) == []


def test_a_job_without_a_review_has_no_say_about_reviews():
    def fields(**asked: object) -> list[str]:
        request = JobRequest.model_validate({"task": "x", **asked}, strict=False)
        sent = request.model_fields_set
        found = unreviewed_errors(request, sent, questions=request.questions)
        return [error.field for error in found]

    times = {"review_remind_seconds": 9, "review_escalate_seconds": 9}
    asked = {"approvals": 2, "pause": "every_run", "on_expiry": "stay", **times}
    assert fields(**asked) == list(asked)
    assert fields(**asked, review=True) == fields(approvals=None) == []
    assert fields(**times, questions=True) == []


def test_what_is_delivered_needs_a_person_where_the_operator_says_so():
    needs = ApiSettings(deliver_needs_review=True, review_on_expiry="approve")

    def fields(settings: ApiSettings = needs, delivers: object = True, **asked: object):
        request = JobRequest.model_validate({"task": "x", **asked}, strict=False)
        return [error.field for error in delivery_errors(delivers, request, settings)]

    assert fields() == ["review"]
    assert fields(review=True) == ["on_expiry"]
    assert fields(review=True, on_expiry="reject") == fields(delivers=None) == fields(PLAIN) == []


def test_a_new_job_of_an_old_one_is_within_the_policy_of_today():
    old = JobSpec("x", review=True, on_expiry=OnExpiry.APPROVE, deliver=Deliver())
    assert within_policy(old, PLAIN) == old
    now = within_policy(old, ApiSettings(review_approvals=2))
    assert (now.approvals, now.on_expiry) == (2, OnExpiry.STAY)
    kept = replace(old, approvals=2, on_expiry=OnExpiry.REJECT)
    needs = ApiSettings(deliver_needs_review=True)
    assert within_policy(kept, needs) == kept
    for spec in (replace(kept, review=False), old):
        with pytest.raises(Refused):
            within_policy(spec, needs)
    assert within_policy(replace(old, deliver=None, review=False), needs).deliver is None


def test_a_rebase_asks_a_person_if_a_delivery_needs_one_by_now():
    needs = ApiSettings(deliver_needs_review=True, review_approvals=2)
    old = JobSpec("x", on_expiry=OnExpiry.APPROVE, deliver=Deliver())
    now = rebased(old, needs)
    assert (now.review, now.approvals, now.on_expiry) == (True, 2, OnExpiry.STAY)
    assert not rebased(replace(old, deliver=None), needs).review
    assert rebased(old, PLAIN) == old
    one = ApiSettings(deliver_needs_review=True)
    assert rebased(replace(old, review=True), one).on_expiry is OnExpiry.STAY
    kept = replace(old, review=True, on_expiry=OnExpiry.REJECT)
    assert rebased(kept, one) == kept

"""What holds for a job's reviews: its own word, else the operator's."""

from __future__ import annotations

from api.schemas.job_request import JobRequest
from api.submission.review_policy import policy, policy_errors, unreviewed_errors
from jobs.model.spec import OnExpiry, Pause
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

"""The choices of the form for a new job, as text. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from jobs.model.spec import Evidence, OnExhausted, OnExpiry, Pause, Priority
from settings.api import ApiSettings

_APPROVALS = {1: "one person's", 2: "two people's, without yours"}
_PAUSE = {
    Pause.BEFORE_CRITIC: "when the executor has ended",
    Pause.EVERY_RUN: "also after every run",
}
_ON_EXPIRY = {
    OnExpiry.STAY: "it stays open",
    OnExpiry.APPROVE: "it counts as approved, if a run succeeded",
    OnExpiry.REJECT: "it counts as rejected",
}
_ON_EXHAUSTED = {
    OnExhausted.FAIL: "the job fails, with its best result",
    OnExhausted.ACCEPT: "it succeeds, unapproved, if its acceptance tests pass",
}
_EVIDENCE = {
    Evidence.RUN: "a command that verifies the work",
    Evidence.NONE: "none: the work cannot be executed, such as documents",
}
_DELIVER = {
    "": "it stays here, as a patch",
    "branch": "push it to the URL, as a branch",
    "pull_request": "push it, and open a pull request",
}
Choices = Mapping[str, str]
"""Texts by the value that the form sends; the first is the default."""


def choices(settings: ApiSettings) -> Mapping[str, Choices]:
    """By field. The operator's default is sent as an empty value."""
    least = settings.review_approvals
    pause, expiry = Pause(settings.review_pause), OnExpiry(settings.review_on_expiry)
    return {
        "approvals": {"": _APPROVALS[least]}
        | {str(count): text for count, text in _APPROVALS.items() if count > least},
        "pause": {"": _PAUSE[pause], **{k: v for k, v in _PAUSE.items() if k != pause}},
        "on_expiry": {"": _ON_EXPIRY[expiry]}
        | {way: text for way, text in _ON_EXPIRY.items() if way != expiry},
        "on_exhausted": {str(way): text for way, text in _ON_EXHAUSTED.items()},
        "evidence": {str(way): text for way, text in _EVIDENCE.items()},
        "deliver": _DELIVER,
        "priority": {str(p): str(p) for p in (Priority.NORMAL, Priority.HIGH, Priority.LOW)},
    }

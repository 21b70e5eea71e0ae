"""A review of kind upgrade on the command line: why, what can be decided, and how to say it."""

from __future__ import annotations

from cli.follow.review_prompt import matching
from cli.render.review import choices, how_to_decide

REASON = "The job's checkpoint is in graph format 9."
CHOICES = {"approve": "begin anew", "delegate": "leave it", "reject": "end it"}
REVIEW = {
    "id": "upgrade-2",
    "kind": "upgrade",
    "opened_at": "",
    "payload": {"reason": REASON, "choices": CHOICES},
}


def test_only_what_it_takes_is_offered():
    assert choices(REVIEW) == CHOICES
    assert [matching(typed, choices(REVIEW)) for typed in ("a", "e", "d")] == [
        "approve", None, "delegate",
    ]  # fmt: skip
    assert how_to_decide("j1", REVIEW) == "fettle review j1 approve|delegate|reject [-m TEXT]"

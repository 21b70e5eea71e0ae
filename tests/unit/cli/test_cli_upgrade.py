"""A review of kind upgrade on the command line: why, what can be decided, and how to say it."""

from __future__ import annotations

import pytest
from support.servers.tiny_service import Answer, event, job, stream

from cli.follow.review_prompt import matching
from cli.main import run
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


@pytest.fixture
def waiting(tiny):
    opened = event(1, "review_opened", review_id="upgrade-2", kind="upgrade")
    begun = event(2, "begun_anew", by="ann", format=9)
    end = event(3, "succeeded", approved_by="ann")
    tiny.on("GET /jobs/j1/events", stream(opened, begun, end))
    asked = Answer(200, job(status="awaiting_review", review=REVIEW))
    tiny.on("GET /jobs/j1", asked, asked, Answer(200, job()))
    return tiny


def test_watch_says_why_nobody_goes_on_and_how_to_decide(waiting, capsys):
    run(["--url", waiting.url, "watch", "j1"])
    shown = capsys.readouterr().out
    assert "no worker can resume it after an upgrade" in shown
    assert "decide: fettle review j1 approve|delegate|reject [-m TEXT]\n" in shown
    assert "restarted: from the task, by ann" in shown


def test_show_says_why(waiting, capsys):
    run(["--url", waiting.url, "show", "j1"])
    shown = " ".join(capsys.readouterr().out.split())
    assert REASON in shown
    assert "`fettle review j1 approve|delegate|reject`" in shown

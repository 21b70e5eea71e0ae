"""Messages for a channel: untrusted text has no effect of its own."""

from __future__ import annotations

import json

import pytest

from jobs.transitions.change import Delivery
from worker.egress.chat import CHATS, notice_of


@pytest.mark.parametrize("braces", range(2, 8))
def test_no_run_of_braces_is_a_function_of_teams(braces):
    task = "{" * braces + "DATE(2026-01-01T00:00:00Z, SHORT)" + "}" * braces
    delivery = Delivery("d1", "t", "j1", "job.finished", 0, {"task": task})
    message = json.dumps(CHATS["teams"](notice_of(delivery, None))["attachments"][0]["content"])
    texts = [part for part in message.split('"') if "DATE" in part]
    assert len(texts) == 1
    assert "{{" not in texts[0]
    assert texts[0].replace(" ", "") == task.replace(" ", "")

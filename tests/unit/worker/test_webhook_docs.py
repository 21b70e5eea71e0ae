"""The receiver's check of docs/how-to/receive-webhooks.md accepts what is sent, nothing else."""

from __future__ import annotations

import base64
import re
import time
from pathlib import Path
from typing import Any

from worker.egress.webhooks import headers, key_of

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "receive-webhooks.md"
SECRET, OTHER = ("whsec_" + base64.b64encode(each * 32).decode() for each in (b"a", b"b"))


def verified() -> Any:
    """The function that the page shows."""
    (snippet,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(snippet, str(PAGE), "exec"), names)
    return names["verified"]


def test_the_receivers_check_takes_what_is_sent_and_nothing_else():
    check, now, body = verified(), int(time.time()), b'{"type": "job.finished"}'
    sent = dict(headers([key_of(OTHER), key_of(SECRET)], "msg_1", now, body))
    assert check(SECRET, sent, body)
    assert check(OTHER, sent, body)
    assert not check("whsec_" + base64.b64encode(b"c" * 32).decode(), sent, body)
    assert not check(SECRET, sent, body + b" ")
    assert not check(SECRET, {**sent, "webhook-id": "msg_2"}, body)
    old = dict(headers([key_of(SECRET)], "msg_1", now - 600, body))
    assert not check(SECRET, old, body)

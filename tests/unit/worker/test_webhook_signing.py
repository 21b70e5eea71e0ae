"""The signature of a webhook message, and the delays between tries."""

from __future__ import annotations

import base64
import json
import re
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from jobs.store.outbox import MAX_DELAY_MS, MAX_TRIES, retry_delay_ms
from jobs.transitions.change import Delivery
from settings.webhooks import WebhookSettings
from worker.egress.webhooks import headers, message, parse_key

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
OTHER = "whsec_" + base64.b64encode(b"x" * 32).decode()


def test_the_signature_is_that_of_standard_webhooks():
    """The example from the tests of the reference libraries."""
    signed_headers = headers(
        [parse_key(SECRET)], "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}'
    )
    assert signed_headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    assert signed_headers["webhook-timestamp"] == "1614265330"


def test_a_message_is_the_same_at_every_try():
    first = Delivery("msg_1", "job.finished", "t", "j", 1_700_000_000_000, {"job_id": "j"}, 1)
    again = Delivery("msg_1", "job.finished", "t", "j", 1_700_000_000_000, {"job_id": "j"}, 2, "x")
    assert message(first) == message(again)
    payload = json.loads(message(first))
    assert payload == {
        "type": "job.finished",
        "timestamp": "2023-11-14T22:13:20.000Z",
        "data": {"job_id": "j", "link": None},
    }


def test_the_delays_between_tries_grow_and_end():
    delays = [retry_delay_ms(tries, lambda: 0.5) for tries in range(1, MAX_TRIES)]
    assert delays[0] == 5_000
    assert all(earlier <= next_delay for earlier, next_delay in pairwise(delays))
    assert delays[-1] == MAX_DELAY_MS
    assert 24 * 3_600_000 < sum(delays) < 25 * 3_600_000
    assert retry_delay_ms(MAX_TRIES) is None
    assert {retry_delay_ms(3, lambda chance=c: chance) for c in (0.0, 1.0)} == {33_750, 56_250}


@pytest.mark.parametrize(
    ("url", "secret"),
    [("https://a.example", None), ("https://a.example", "whsec_c2hvcnQ="), (None, "not base64!")],
)
def test_a_missing_or_weak_secret_is_refused(url, secret):
    with pytest.raises(ValidationError, match="FETTLE_WEBHOOK_SECRET"):
        WebhookSettings(webhook_url=url, webhook_secret=secret)


def test_a_chat_needs_no_secret():
    url = "https://hooks.example.org/services/x"
    assert WebhookSettings(webhook_url=url, webhook_format="slack").webhook_secrets == ()
    with pytest.raises(ValidationError, match=r"generic.*slack.*teams"):
        WebhookSettings(webhook_format="irc")


@pytest.mark.parametrize("format_name", ["generic", "slack", "teams"])
def test_the_signed_head_of_an_audit_log_has_no_link_to_a_job(format_name):
    data = {"tenant": "t", "day": "2026-11-01", "seq": 7, "hash": "ab" * 32}
    delivery = Delivery("msg_1", "audit.head", "t", "", 1_700_000_000_000, data)
    body = message(delivery, format_name, "https://fettle.example.org").decode()
    assert "fettle.example.org" not in body
    assert "ab" * 32 in body


PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "receive-webhooks.md"


def verified() -> Any:
    """The function that the documentation shows."""
    (snippet,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(snippet, str(PAGE), "exec"), names)
    return names["verified"]


def test_the_receivers_check_accepts_only_sent_messages():
    check, now, body = verified(), int(time.time()), b'{"type": "job.finished"}'
    sent = dict(headers([parse_key(OTHER), parse_key(SECRET)], "msg_1", now, body))
    assert check(SECRET, sent, body)
    assert check(OTHER, sent, body)
    assert not check("whsec_" + base64.b64encode(b"c" * 32).decode(), sent, body)
    assert not check(SECRET, sent, body + b" ")
    assert not check(SECRET, {**sent, "webhook-id": "msg_2"}, body)
    old = dict(headers([parse_key(SECRET)], "msg_1", now - 600, body))
    assert not check(SECRET, old, body)

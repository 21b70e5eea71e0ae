"""Values that no recording may contain."""

from __future__ import annotations

import time

import pytest

from agents.redaction import REMOVED, Redaction

GROQ = "gsk_" + "a1B2" * 8
BEARER = "Authorization: Bearer abcdefgh.12345"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("my hunter22 key", f"my {REMOVED} key"),
        (f"use {GROQ}.", f"use {REMOVED}."),
        ("AKIAABCDEFGHIJKLMNOP", REMOVED),
        (f"curl -H '{BEARER}'", f"curl -H 'Authorization: Bearer {REMOVED}'"),
        ('{"authorization": "Basic dXNlcjpwYXNz"}', f'{{"authorization": "Basic {REMOVED}"}}'),
        ("-----BEGIN RSA PRIVATE KEY-----\nab\n-----END RSA PRIVATE KEY-----", REMOVED),
        ("short", "short"),
    ],
)
def test_a_secret_is_removed(text: str, expected: str) -> None:
    redaction = Redaction.of(["hunter22", "hunter22-and-more", "short", ""])
    assert redaction.text(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        'headers={"Authorization": f"Bearer {key}"}',
        "the task-sk-etch",
        "a disk-space check of sk-learn",
    ],
)
def test_code_that_handles_secrets_is_unchanged(text: str) -> None:
    assert Redaction().text(text) == text


def test_values_are_cleaned_at_every_depth() -> None:
    value = {"a": [GROQ, {"hunter22": 1}], "b": None}
    expected = {"a": [REMOVED, {REMOVED: 1}], "b": None}
    assert Redaction.of(["hunter22"]).value(value) == expected


def test_the_representation_has_no_secret() -> None:
    assert "hunter22" not in repr(Redaction.of(["hunter22"]))


def test_many_beginnings_of_a_key_take_a_time_that_is_proportional_to_the_text() -> None:
    """Each beginning was searched for an end, on the worker's event loop: 28 s for 256 KB."""
    begins = "-----BEGIN RSA PRIVATE KEY-----\n" * 8_000
    key = "-----BEGIN RSA PRIVATE KEY-----\nab\n-----END RSA PRIVATE KEY-----\n"
    begin = time.process_time()
    assert Redaction().text(begins) == begins
    assert Redaction().text(f"a {key}b {key}c {begins}") == f"a {REMOVED}\nb {REMOVED}\nc {begins}"
    assert time.process_time() - begin < 2

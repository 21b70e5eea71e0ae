from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from agents.models import ReplyMalformed
from agents.models.error_mapping.from_status import error_from_status
from agents.models.replies.surrogates import fix_surrogates, replace_surrogates

TEXTS = st.text('aä\u2028"\\\ud83d\ude00\U0001f600', max_size=6)


@given(st.dictionaries(TEXTS, st.lists(TEXTS, max_size=3), max_size=3))
@settings(max_examples=50)
def test_what_is_mended_can_be_sent_and_is_left_alone_then(value: object) -> None:
    once = fix_surrogates(value)
    json.dumps(once, ensure_ascii=False).encode()
    assert fix_surrogates(once) is once


def test_only_what_is_half_is_changed() -> None:
    value = {"k\udc00": ["ä \u2028 \U0001f600", "\ud83d\ude00", "\ud83d", 1.5, None]}
    assert fix_surrogates(value) == {
        "k\ufffd": ["ä \u2028 \U0001f600", "\U0001f600", "\ufffd", 1.5, None]
    }
    assert replace_surrogates('a\ud83d"b') == 'a\ufffd"b'


def test_a_provider_s_own_words_hold_no_half() -> None:
    """They are told to people, and what was kept back is sent back to the model."""
    error = error_from_status(
        400, "no \ud83d", {"code": "tool_use_failed", "failed_generation": "\ud83d"}, {}
    )
    assert isinstance(error, ReplyMalformed)
    assert (str(error), error.said) == ("no \ufffd", "\ufffd")

"""What providers tell of a request that was too long, in their own words."""

from __future__ import annotations

import pytest

from agents.models.error_mapping.from_status import error_from_status
from agents.models.errors import ContextExceeded

OPENAI = "This model's maximum context length is 8192 tokens. However, "


@pytest.mark.parametrize(
    ("words", "room", "took"),
    [
        (f"{OPENAI}your messages resulted in 9021 tokens.", 8_192, 9_021),
        (("This endpoint's maximum context length is 32,768 tokens. However, you requested about "
         "40,960 tokens (38,912 of text input, 2048 in the output)."), 32_768, 38_912),
        ("prompt is too long: 208310 tokens > 200000 maximum", 200_000, 208_310),
        (("input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease "
         "input length"), 200_000, 178_959),
        ("The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).",
         1_048_576, 1_200_293),
        (("request (9021 tokens) exceeds the available context size (8192 tokens), try increasing "
         "it"), 8_192, 9_021),
        ("the context length of only 4096 tokens, which is not enough", 4_096, None),
        ("Please reduce the length of the messages: context length 5 is over", None, None),
    ],
)  # fmt: skip
def test_of_a_refusal_for_length(words: str, room: int | None, took: int | None) -> None:
    error = error_from_status(400, words, {}, {})
    assert isinstance(error, ContextExceeded)
    assert (error.limit, error.used) == (room, took)


def test_a_minute_that_is_too_short_is_a_room_as_well() -> None:
    words = "Request too large for model x on tokens per minute (TPM): Limit 8000, Requested 32979"
    error = error_from_status(413, words, {}, {})
    assert isinstance(error, ContextExceeded)
    assert (error.limit, error.used) == (8_000, 32_979)

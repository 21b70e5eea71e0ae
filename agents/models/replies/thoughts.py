"""Thoughts in the text of a reply. Pure.

A server without a reasoning parser leaves them in the text: between tags at its beginning, or only
with the closing tag, if its chat template has written the opening one.
"""

from __future__ import annotations

import re

from agents.models.replies.code_spans import find, outside_code

_NAMES = r"(?i:think|thinking|thoughts?|reasoning|seed:think)"
_OPENING = re.compile(
    rf"\s*(?:<{_NAMES}(?:\s[^<>]*)?>|\[THINK\]|◁think▷|<\|START_THINKING\|>|<\|begin_of_thought\|>"
    r"|<\|channel>thought)"  # Gemma 4
)
_CLOSING = rf"</{_NAMES}>|\[/THINK\]|◁/think▷|<\|END_THINKING\|>|<\|end_of_thought\|>|<channel\|>"
_CLOSED = re.compile(_CLOSING)
_ALONE = outside_code(rf"(?:^|(?<=\n))(?:{_CLOSING})|(?:{_CLOSING})(?=\s*(?:\n|\Z|[\[{{<]))")
"""A closing tag as servers leave it: at the beginning or the end of a line, or before a value. In
a sentence that explains the tag, it is neither."""
_LAST_TOKENS = (
    *("<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|end|>", "<|endoftext|>", "<|end_of_text|>"),
    *("<|return|>", "<|call|>", "<|eos|>", "<|assistant|>", "<|END_RESPONSE|>"),
    *("<\uff5cend\u2581of\u2581sentence\uff5c>", "</s>", "<eos>", "<end_of_turn>"),
    "<|end_of_solution|>",
)
_FIRST_TOKENS = re.compile(
    r"\A\s*(?:<\|im_start\|>\s*assistant"
    r"|<\|start_header_id\|>\s*assistant\s*<\|end_header_id\|>"
    r"|<\|(?:START_RESPONSE|begin_of_solution)\|>)\s*"
)
_ANSWER = re.compile(r"<(answer|response)>")
"""After thoughts, the tags of models such as Hunyuan."""


def without_thoughts(text: str) -> str:
    """The text after its thoughts, without the tokens of a chat template at its ends.

    Empty if the thoughts are not closed: all of the text belongs to them.
    """
    text = _without_last_tokens(_FIRST_TOKENS.sub("", text))
    answer = _after_thoughts(text)
    if answer == text:
        return text
    if tag := _ANSWER.match(answer):
        return answer[tag.end() :].strip().removesuffix(f"</{tag[1]}>").strip()
    return _FIRST_TOKENS.sub("", answer)


def _after_thoughts(text: str) -> str:
    while opening := _OPENING.match(text):
        closing = _CLOSED.search(text, opening.end())
        if closing is None:
            return ""
        text = text[closing.end() :].lstrip()
    if alone := find(_ALONE, text):
        return text[alone.end() :].lstrip()
    return text


def _without_last_tokens(text: str) -> str:
    """The text without the tokens at its end, and without the white space around them."""
    last = len(text)
    end = _end_of_text(text, last)
    while token := next((each for each in _LAST_TOKENS if text.endswith(each, 0, end)), ""):
        last = end = _end_of_text(text, end - len(token))
    return text[:last]


def _end_of_text(text: str, end: int) -> int:
    """The position after the last character before `end` that is not white space."""
    while end and text[end - 1].isspace():
        end -= 1
    return end

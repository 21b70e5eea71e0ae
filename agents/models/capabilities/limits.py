"""Reads numbers of tokens in a refusal: the limits of the model, and the tokens of the input.

Pure. Servers write them in many ways. But the limit on output tokens that was sent is known, so the
other numbers can be recognised.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

USEFUL_TOKENS = 256
"""The least limit on output tokens that is sent: a tool call with a little code needs as many.
The executor's own request leaves little more of a context of 2,048."""
MARGIN_TOKENS = 16
"""This many tokens stay free, because some servers only estimate the tokens of a request."""

# `8,192` is one number; `[1,8192]` and `1..8192` have two. Numbers in names and dates do not count.
_NUMBER = r"(?<![\w-])(?<!(?<!\.)\.)(\d{1,3}(?:,\d{3}){1,5}(?!\d)|\d{1,18})(?!\w|-(?!tok)|\.\d)"
_BETWEEN = r"(?:(?! by )[^.\d]){0,40}?"
_CONTEXT = re.compile(
    rf"(?:context[ _-]?(?:length|window|size|limit)?|max_model_len|token limit|while limit)"
    rf"{_BETWEEN}{_NUMBER}|{_NUMBER}(?:[ -]\w+)? (?:maximum )?context"
    rf"|inputs?`? tokens \+ {_BETWEEN}{_NUMBER}",
    re.IGNORECASE,
)
# Anthropic: `input length and max_tokens exceed context limit: 190000 + 20000 > 200000`
_SUM = re.compile(rf"{_NUMBER} ?\+ ?{_NUMBER} ?> ?{_NUMBER}")
# Groq: `Request too large for model on tokens per minute (TPM): Limit 6000, Requested 9000`
_PER_MINUTE = re.compile(
    rf"tokens per minute.{{0,20}}?limit {_NUMBER}, requested {_NUMBER}", re.IGNORECASE
)
_INPUT = re.compile(
    rf"{_NUMBER}`? (?:tokens )?(?:(?:in|from|of) )?(?:the |your |text )?`?(?:input|prompt|messages)"
    rf"|\b(?:request|prompt|inputs?|messages)\b{_BETWEEN}{_NUMBER}",
    re.IGNORECASE,
)
_ABOUT_OUTPUT = re.compile(
    r"max(?:imum)?[ _-]?(?:(?:completion|output|new)[ _-]?)?tokens"
    r"|(?:completion|output|generated) tokens|num_?predict",
    re.IGNORECASE,
)
# Numbers that are no maximum: a smallest value, a status.
_NO_LIMIT = re.compile(
    r"(?:(?:must|should|has to) be (?:greater|more|larger) than|at least|minimum)"
    rf"{_BETWEEN}{_NUMBER}|(?:>=|from|\[|code:?|status|error)\W{{0,3}}{_NUMBER}|<{_NUMBER}>",
    re.IGNORECASE,
)
_EXCLUSIVE = re.compile(rf"{_NUMBER}`? ?\(exclusive\)|(?:less|lower) than `?{_NUMBER}")


@dataclass(frozen=True, slots=True)
class Limits:
    """What a sentence says: the most output tokens of the model, its context, and the tokens of the
    context that this input leaves for a reply. None: the sentence does not say it."""

    output: int | None = None
    context: int | None = None
    remaining: int | None = None


def is_about_output(sentence: str) -> bool:
    """Whether the sentence is about the limit on output tokens."""
    return _ABOUT_OUTPUT.search(sentence) is not None


def read_limits(sentence: str, sent: int) -> Limits:
    """The limits in a sentence about the length of a request or of its reply. `sent` is the limit
    on output tokens that was sent."""
    if summed := _SUM.search(sentence):
        used, _, total = map(_value, summed.groups())
        return Limits(context=total, remaining=_remaining(total, used))
    if rate := _PER_MINUTE.search(sentence):
        # No request has more tokens than the account has in a minute, whatever the context.
        total, requested = map(_value, rate.groups())
        used = requested - sent if requested > sent else requested
        return Limits(context=total, remaining=_remaining(total, used))
    context = next(filter(_is_plausible, map(_first, _CONTEXT.finditer(sentence))), None)
    if context is not None:
        remaining = _remaining(context, _used(sentence, context, sent))
        return Limits(context=context, remaining=remaining)
    ignored = set(map(_first, _NO_LIMIT.finditer(sentence)))
    numbers = filter(_is_plausible, map(_first, re.finditer(_NUMBER, sentence)))
    most = max((each for each in numbers if each < sent and each not in ignored), default=None)
    exclusive = set(map(_first, _EXCLUSIVE.finditer(sentence)))
    return Limits(output=most - 1 if most in exclusive and most else most)


def _used(sentence: str, context: int, sent: int) -> int | None:
    """The tokens of the request itself, without the reply."""
    labelled = map(_first, _INPUT.finditer(sentence))
    known = next((each for each in labelled if each not in (context, sent)), None)
    numbers = map(_first, re.finditer(_NUMBER, sentence))
    totals = [each - sent for each in numbers if each > max(context, sent)]
    if known is not None and known >= context:
        return known
    return max(filter(None, (known, *totals)), default=None)


def _remaining(context: int, used: int | None) -> int | None:
    if used is None:
        return None
    remaining = context - used - MARGIN_TOKENS
    return remaining if remaining >= USEFUL_TOKENS else None


def _is_plausible(limit: int) -> bool:
    """Whether the number can be a limit on tokens. Smaller numbers are versions, counts, ..."""
    return limit >= USEFUL_TOKENS


def _first(match: re.Match[str]) -> int:
    return next(_value(each) for each in match.groups() if each)


def _value(number: str) -> int:
    return int(number.replace(",", ""))

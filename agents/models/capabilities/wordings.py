"""How servers refuse a field in English, and how they name limits on tokens. Pure.

A field counts as refused if a sentence has its name as a separate word, and a phrase of refusal
right before or after it. If no field does, the first field that is written as a name, and not as a
word, counts: a sentence may use other words, or another language.

Servers write the limits of a model and the tokens of the input in many ways. But the limit on
output tokens that was sent is known, so the other numbers can be recognised.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from agents.models.capabilities.body import Field

_NOT = r"(?:(?:do|does|did|is|are|was|were|can|could|may|must|should)(?: not|n't|not)|not|cannot)"
_ACCEPT = r"(?:support|accept|allow|permit|recogni[sz]|take)\w*"
_UNKNOWN = r"un(?:supported|known|recogni[sz]ed|expected|permitted)|extraneous|extra|deprecated"
# `Unsupported parameter: X`, `this model does not support X`
_BEFORE_A_FIELD = rf"\b(?:{_UNKNOWN}|(?:{_NOT}|no longer) (?:\w+ )?{_ACCEPT})\b"
# `X is not supported`, `X: Extra inputs are not permitted`, `X does not support 0 with this model`
_AFTER_A_FIELD = (
    rf"\b(?:{_UNKNOWN}|forbidden|incompatible|no longer"
    rf"|{_NOT} (?:\w+ ){{0,2}}(?:{_ACCEPT}|available|implemented|compatible|enabled))\b"
)
# The server knows the field, but not its value: without the field, it uses a default value.
_BEFORE_A_VALUE = r"\b(?:invalid|bad|wrong)\b"
_AFTER_A_VALUE = r"\b(?:invalid|must|has to|have to|should|may only|cannot|can only|only)\b"
_DEMAND = re.compile(
    r"must be (?:passed|sent|provided|included|specified|present|set\b)"
    r"|(?:is|are|field) (?:required|missing)",
    re.IGNORECASE,
)
# The text between phrase and name must not have an end of a sentence, a condition or a list of
# accepted values.
_GAP = (
    r"(?:(?!\.\s|;|\n|\b(?:when|if|because|since|unless|but|expected|one of|instead|please"
    r"|(?:supported|allowed|valid) (?:values|parameters|fields))\b)[\s\S])"
)
_SHORT_GAP = r"(?:[^.,;\n]|\.\d)"
_QUOTE = r"[\\'\"`\[({#]"
_PARAMETER = r"(?:\b(?:parameter|param|field|argument|property|option)|参数)"
_FORCING = re.compile(
    r"tool[ _-]?choice|tool[ _-]?config|function[ _-]?call(?:ing)?[ _-]?(?:config|mode)"
    r"|(?:forc\w{1,8}|required) (?:a )?(?:tool|function)|\bgrammar\b|\bguided[ _-]",
    re.IGNORECASE,
)
_WORDS = re.compile(r"[A-Z]?[a-z0-9$]+|[A-Z]+(?![a-z])")
_OTHER_FORMS = {
    "stream": "stream(?:ing)?",
    "thinkingConfig": r"thinking(?:[ _-]?config|(?![ _-]?(?:budget|level)))",
}
"""Names that sentences write in another form, too."""


def refuses(sentence: str, field: Field) -> bool:
    """Whether the sentence says that the server does not accept the field."""
    return _matches(sentence, field, _BEFORE_A_FIELD, _AFTER_A_FIELD, _GAP)


def refuses_value(sentence: str, field: Field) -> bool:
    """Whether the sentence says that the server does not accept the field's value."""
    if field.listed or _DEMAND.search(sentence):
        return False
    return _matches(sentence, field, _BEFORE_A_VALUE, _AFTER_A_VALUE, _SHORT_GAP)


def names(sentence: str, field: Field) -> bool:
    """Whether the sentence has the field's name in a form that is not an English word: `top_p`,
    "seed", `parameter seed`. The names in messages and tools are too common for that, and the limit
    on output tokens is more often too high than unknown."""
    if field.listed or field.is_output_limit:
        return False
    is_word = field.name.isalpha() and field.name.islower()
    opened = rf"(?i:{_PARAMETER} ?)|[\"'`]" if is_word else r"(?<![a-zA-Z0-9_])"
    word = rf"(?:{opened}){re.escape(field.name)}(?![a-zA-Z0-9_])"
    return re.search(word, sentence) is not None


def is_refusal(sentence: str) -> bool:
    """Whether a sentence about one field refuses the field, and not its value."""
    return re.search(rf"{_BEFORE_A_FIELD}|forbidden", sentence, re.IGNORECASE) is not None


def mentions(sentence: str, name: str) -> bool:
    """Whether the sentence has a field's name as a separate word, in any spelling."""
    word = rf"(?<![^\W_]){_spelled(name)}(?![^\W_])"
    return re.search(word, sentence, re.IGNORECASE) is not None


def mentions_forcing(sentence: str) -> bool:
    """Whether the sentence is about the way in which a tool is forced."""
    return _FORCING.search(sentence) is not None


def _matches(sentence: str, field: Field, before: str, after: str, gap: str) -> bool:
    if not mentions(sentence, field.name):
        return False
    name = _name(field)
    pattern = rf"{before}{gap}{{0,60}}?{name}|{name}{gap}{{0,40}}?{after}"
    return re.search(pattern, sentence, re.IGNORECASE) is not None


def _name(field: Field) -> str:
    """The field's name, with the path before it. The names of fields in messages and tools can be
    English words: such a word has to be quoted or to follow a path."""
    is_common = field.listed and field.name.islower() and field.name.isalpha()
    opened = rf"(?:{_QUOTE}|[\w\]]\.)" if is_common else r"(?<!\w)(?:[\w\[\]]{1,40}\.){0,8}"
    spelled = _spelled(field.name).replace("[ _-]", "_") if field.listed else _spelled(field.name)
    return rf"{opened}{spelled}(?!\w)"


@cache
def _spelled(name: str) -> str:
    words = map(re.escape, _WORDS.findall(name) or [name])
    return _OTHER_FORMS.get(name) or r"[ _-]?".join(words)


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
class TokenLimits:
    """The numbers of tokens in a sentence; None: the sentence does not have the number."""

    output: int | None = None
    """The most output tokens of the model."""
    context: int | None = None
    """The context of the model."""
    remaining: int | None = None
    """The tokens of the context that the input leaves for a reply."""


def is_about_output(sentence: str) -> bool:
    """Whether the sentence is about the limit on output tokens."""
    return _ABOUT_OUTPUT.search(sentence) is not None


def read_limits(sentence: str, sent: int) -> TokenLimits:
    """The limits in a sentence about the length of a request or of its reply. `sent` is the limit
    on output tokens that was sent."""
    if summed := _SUM.search(sentence):
        used, _, total = map(_value, summed.groups())
        return TokenLimits(context=total, remaining=_remaining(total, used))
    if rate := _PER_MINUTE.search(sentence):
        # No request has more tokens than the account has in a minute, also in a larger context.
        total, requested = map(_value, rate.groups())
        used = requested - sent if requested > sent else requested
        return TokenLimits(context=total, remaining=_remaining(total, used))
    context = next(filter(_is_plausible, map(_first, _CONTEXT.finditer(sentence))), None)
    if context is not None:
        remaining = _remaining(context, _used(sentence, context, sent))
        return TokenLimits(context=context, remaining=remaining)
    ignored = set(map(_first, _NO_LIMIT.finditer(sentence)))
    numbers = filter(_is_plausible, map(_first, re.finditer(_NUMBER, sentence)))
    most = max(
        (number for number in numbers if number < sent and number not in ignored), default=None
    )
    exclusive = set(map(_first, _EXCLUSIVE.finditer(sentence)))
    return TokenLimits(output=most - 1 if most in exclusive and most else most)


def _used(sentence: str, context: int, sent: int) -> int | None:
    """The tokens of the request itself, without the reply."""
    labelled = map(_first, _INPUT.finditer(sentence))
    labelled_tokens = next((number for number in labelled if number not in (context, sent)), None)
    numbers = map(_first, re.finditer(_NUMBER, sentence))
    totals = [number - sent for number in numbers if number > max(context, sent)]
    if labelled_tokens is not None and labelled_tokens >= context:
        return labelled_tokens
    return max(filter(None, (labelled_tokens, *totals)), default=None)


def _remaining(context: int, used: int | None) -> int | None:
    if used is None:
        return None
    remaining = context - used - MARGIN_TOKENS
    return remaining if remaining >= USEFUL_TOKENS else None


def _is_plausible(limit: int) -> bool:
    """Whether the number can be a limit on tokens. Smaller numbers are versions, counts, ..."""
    return limit >= USEFUL_TOKENS


def _first(match: re.Match[str]) -> int:
    return next(_value(group) for group in match.groups() if group)


def _value(number: str) -> int:
    return int(number.replace(",", ""))

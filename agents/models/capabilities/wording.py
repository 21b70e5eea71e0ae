"""How servers say in English that they refuse a field. Pure.

A field counts as refused if a sentence has its name as a word of its own, and a phrase of refusal
right before or after it. If no field does, the first field that is written as a name, and not as a
word, counts: a sentence may use other words, or another language.
"""

from __future__ import annotations

import re
from functools import cache

from agents.models.capabilities.fields import Field

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
# The server knows the field, and not its value: without the field, it uses its own.
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
    """Whether the sentence has the field's name in a form that is no English word: `top_p`, "seed",
    `parameter seed`. The names in messages and tools are too common for that, and the limit on
    output tokens is more often too high than unknown."""
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
    """Whether the sentence has a field's name as a word of its own, in any spelling."""
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

"""Field types of several requests: labels, amounts of money, and the verification command."""

from __future__ import annotations

import shlex
from decimal import Decimal
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from api.schemas import patterns

Label = Annotated[str, Field(pattern=patterns.LABEL)]


def _as_text(amount: object) -> object:
    """A JSON number as the decimal that was written; text is left as it is."""
    if isinstance(amount, int | float) and not isinstance(amount, bool):
        return format(Decimal(repr(amount)), "f")
    return amount


Dollars = Annotated[
    str,
    BeforeValidator(_as_text),
    Field(pattern=patterns.DOLLARS),
    WithJsonSchema(
        {"anyOf": [{"type": "string", "pattern": patterns.DOLLARS}, {"type": "number"}]}
    ),
]
"""US dollars: a decimal string, or a JSON number."""

MOST_WORDS = 64
MOST_CHARACTERS = 4_096
OPERATORS = frozenset({"|", "||", "&&", ";", "&", ">", "<", ">>"})
_SCHEMA = {
    "anyOf": [
        {"type": "array", "items": {"type": "string"}, "maxItems": MOST_WORDS},
        {"type": "string", "minLength": 1, "maxLength": MOST_CHARACTERS},
    ]
}


def _split(asked: object) -> object:
    """The words of a command line; other types are left to the field's own validation."""
    if not isinstance(asked, str):
        return asked
    if len(asked) > MOST_CHARACTERS:  # splitting it would be slow
        raise _too_long()
    try:
        words = shlex.split(asked)
    except ValueError as error:
        raise PydanticCustomError(
            "command", "it cannot be split: {why}", {"why": str(error)}
        ) from None
    if not words:
        raise PydanticCustomError("command", "it has no words")
    return words


def _fits(words: list[str]) -> list[str]:
    if len(words) > MOST_WORDS:
        raise PydanticCustomError(
            "command", "it may have at most {most} words", {"most": MOST_WORDS}
        )
    if sum(map(len, words)) > MOST_CHARACTERS:
        raise _too_long()
    if words and not words[0]:
        raise PydanticCustomError("command", "its first word, the program, is empty")
    if any("\0" in word for word in words):
        raise PydanticCustomError("command", "a word has a NUL character")
    if operator := next((word for word in words if word in OPERATORS), None):
        raise PydanticCustomError(
            "command",
            "no shell runs it, so '{operator}' has no meaning: put the pipeline into a script, or "
            "name one command",
            {"operator": operator},
        )
    return words


def _too_long() -> PydanticCustomError:
    return PydanticCustomError(
        "command", "it may have at most {most} characters", {"most": MOST_CHARACTERS}
    )


Verify = Annotated[
    list[str], BeforeValidator(_split), AfterValidator(_fits), WithJsonSchema(_SCHEMA)
]

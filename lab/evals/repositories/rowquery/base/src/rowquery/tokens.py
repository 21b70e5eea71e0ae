"""A query's text as tokens."""

import re
from dataclasses import dataclass

from rowquery.errors import QueryError

_PATTERN = re.compile(
    r"""\s*(?:
        (?P<number>-?\d+(?:\.\d+)?)
      | (?P<text>"(?:[^"\\]|\\.)*")
      | (?P<sign><=|>=|!=|[=<>~()])
      | (?P<word>[A-Za-z_]\w*)
    )""",
    re.VERBOSE,
)
KEYWORDS = {"and", "or", "not"}


@dataclass(frozen=True)
class Token:
    kind: str
    value: object
    at: int


def tokens(text):
    """Raises QueryError."""
    at, found = 0, []
    while text[at:].strip():
        match = _PATTERN.match(text, at)
        if match is None:
            raise QueryError("unexpected sign", at + len(text[at:]) - len(text[at:].lstrip()))
        kind, value = match.lastgroup, match[match.lastgroup]
        found.append(_token(kind, value, match.start(kind)))
        at = match.end()
    return [*found, Token("end", "", len(text))]


def _token(kind, value, at):
    if kind == "number":
        return Token(kind, float(value), at)
    if kind == "text":
        return Token(kind, re.sub(r"\\(.)", r"\1", value[1:-1]), at)
    if kind == "word" and value.lower() in KEYWORDS:
        return Token(value.lower(), value, at)
    return Token(kind, value, at)

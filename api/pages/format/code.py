"""Code with syntax colours as Pygments' spans. Pure."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from io import StringIO
from typing import Any

from markupsafe import Markup, escape
from pygments.formatters.html import HtmlFormatter
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
from pygments.util import ClassNotFound

from api.http.foreign_text import visible

MOST = 50_000
"""The most characters that are coloured: longer texts would be slow."""
MOST_KEPT = 5_000
"""The most characters of a text whose result is cached. An event holds no longer part of a run's
code, and a full cache takes some MB."""
SECONDS = 2.0
"""How long colours may take: some lexers need the square of the time for twice the text, and the
text is anybody's. What is late has none."""
_OPTIONS = {"stripnl": False, "ensurenl": False}


def coloured(code: str, language: str = "python", name: str = "") -> Markup:
    """A program, coloured; `name`, a file's name, determines the language."""
    text = visible(code.rstrip("\n"))
    return (_kept if len(text) <= MOST_KEPT else _drawn)(text, language, name)


def lexer_of(name: str, language: str = "text") -> Lexer:
    """The lexer for a file of this name, else for the language; for plain text where neither is
    known."""
    try:
        if name:
            return get_lexer_for_filename(name, **_OPTIONS)
        return get_lexer_by_name(language, **_OPTIONS)
    except ClassNotFound:
        return get_lexer_by_name("text", **_OPTIONS)


def lines(texts: Sequence[str], lexer: Lexer, until: float) -> list[Markup]:
    """Safe lines that follow each other, each coloured as markup of its own; plain where the clock
    (`time.monotonic`) says that it is later than `until`."""
    text = "".join(f"{text}\n" for text in texts)
    drawn = (_highlighted(text, lexer, until) or "").split("\n")[:-1]
    if len(drawn) != len(texts):
        return [escape(text) for text in texts]
    return [Markup(each) for each in drawn]  # noqa: S704 - it escapes


@lru_cache(maxsize=128)
def _kept(text: str, language: str, name: str) -> Markup:
    return _drawn(text, language, name)


def _drawn(text: str, language: str, name: str) -> Markup:
    drawn = _highlighted(text, lexer_of(name, language), time.monotonic() + SECONDS)
    return escape(text) if drawn is None else Markup(drawn)  # noqa: S704 - it escapes


def _highlighted(text: str, lexer: Lexer, until: float) -> str | None:
    """None for what is too long, or takes too long."""
    if len(text) > MOST:
        return None
    drawn = StringIO()
    try:
        _formatter().format(_timely(lexer.get_tokens(text), until), drawn)
    except TimeoutError:
        return None
    return drawn.getvalue()


def _timely(tokens: Iterable[Any], until: float) -> Iterator[Any]:
    """Raises TimeoutError."""
    for token in tokens:
        if time.monotonic() > until:
            raise TimeoutError
        yield token


@cache
def _formatter() -> HtmlFormatter[str]:
    return HtmlFormatter(nowrap=True)

"""Code with syntax colours as Pygments' spans. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache

from markupsafe import Markup, escape
from pygments import highlight
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


def lines(texts: Sequence[str], lexer: Lexer) -> list[Markup]:
    """Safe lines that follow each other, each coloured as markup of its own."""
    drawn = highlight("".join(f"{text}\n" for text in texts), lexer, _formatter()).split("\n")[:-1]
    if len(drawn) != len(texts):
        return [escape(text) for text in texts]
    return [Markup(each) for each in drawn]  # noqa: S704 - it escapes


@lru_cache(maxsize=128)
def _kept(text: str, language: str, name: str) -> Markup:
    return _drawn(text, language, name)


def _drawn(text: str, language: str, name: str) -> Markup:
    if len(text) > MOST:
        return escape(text)
    return Markup(highlight(text, lexer_of(name, language), _formatter()))  # noqa: S704 - it escapes


@cache
def _formatter() -> HtmlFormatter[str]:
    return HtmlFormatter(nowrap=True)

"""Code with syntax colours as Pygments' spans. Pure."""

from __future__ import annotations

from functools import lru_cache

from markupsafe import Markup, escape
from pygments import highlight
from pygments.formatters.html import HtmlFormatter
from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
from pygments.util import ClassNotFound

from api.http.foreign_text import visible

MOST = 50_000
"""The most characters that are coloured: longer texts would be slow."""
MOST_KEPT = 5_000
"""The most characters of a text whose result is cached. An event holds no longer part of a run's
code, and a full cache takes some MB."""


def coloured(code: str, language: str = "python", name: str = "") -> Markup:
    """A program, coloured; `name`, a file's name, determines the language."""
    text = visible(code.rstrip("\n"))
    return (_kept if len(text) <= MOST_KEPT else _drawn)(text, language, name)


@lru_cache(maxsize=128)
def _kept(text: str, language: str, name: str) -> Markup:
    return _drawn(text, language, name)


def _drawn(text: str, language: str, name: str) -> Markup:
    if len(text) > MOST:
        return escape(text)
    options = {"stripnl": False, "ensurenl": False}
    try:
        lexer = (
            get_lexer_for_filename(name, **options)
            if name
            else get_lexer_by_name(language, **options)
        )
    except ClassNotFound:
        lexer = get_lexer_by_name("text", **options)
    return Markup(highlight(text, lexer, HtmlFormatter(nowrap=True)))  # noqa: S704 - it escapes

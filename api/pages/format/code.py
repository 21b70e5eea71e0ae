"""Code with syntax colours as Pygments' spans. Another process colours it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Final

from markupsafe import Markup, escape

from api.http.foreign_text import visible
from api.pages.format.text_process import TextProcess

MOST = 50_000
"""The most characters that are coloured: longer texts would be slow."""
MOST_KEPT = 5_000
"""The most characters of a text whose result is cached. An event holds no longer part of a run's
code, and a full cache takes some MB."""
SECONDS = 2.0
"""How long colours may take. A late text has no colours."""
LEXERS: Final[Mapping[str, Sequence[str]]] = {
    "bash": (".sh", ".bash", "sh", "shell", "zsh", "console"),
    "c": (".c", ".h"),
    "cpp": (".cc", ".cpp", ".cxx", ".hh", ".hpp", "c++"),
    "csharp": (".cs", "c#"),
    "css": (".css", ".scss"),
    "diff": (".diff", ".patch"),
    "docker": ("Dockerfile", ".dockerfile", "dockerfile"),
    "go": (".go", "go.mod"),
    "html": (".html", ".htm", ".xhtml"),
    "ini": (".ini", ".cfg", ".conf", ".editorconfig", ".properties"),
    "java": (".java",),
    "javascript": (".js", ".mjs", ".cjs", ".jsx", "js"),
    "json": (".json", ".jsonl"),
    "kotlin": (".kt", ".kts"),
    "make": ("Makefile", ".mk", "makefile"),
    "php": (".php",),
    "python": (".py", ".pyi", "py", "python3"),
    "ruby": (".rb", "Gemfile", "Rakefile", "rb"),
    "rust": (".rs", "rs"),
    "sql": (".sql",),
    "swift": (".swift",),
    "toml": (".toml",),
    "typescript": (".ts", ".tsx", ".mts", "ts"),
    "xml": (".xml", ".svg", ".xsd"),
    "yaml": (".yaml", ".yml", "yml"),
}
"""Pygments' names of the languages that have colours, with endings and names of their files, and
other names of a language. Pygments has lexers for 500 more, and some of them need minutes."""


def coloured(code: str, language: str = "python", name: str = "") -> Markup:
    """A program, coloured; `name`, a file's name, determines the language."""
    text = visible(code.rstrip("\n"))
    lexer = lexer_of(name) if name else _by_name().get(language.lower())
    if lexer is None:
        return escape(text)
    try:
        return (_kept if len(text) <= MOST_KEPT else _drawn)(text, lexer)
    except TimeoutError:
        return escape(text)


def lexer_of(path: str) -> str | None:
    """The lexer for a file of this name; None if it has no colours."""
    name = path.rpartition("/")[2]
    ending = name[name.rfind(".") :].lower() if "." in name else name
    return _by_name().get(name) or _by_name().get(ending)


def lines(texts: Sequence[str], lexer: str | None, until: float) -> list[Markup]:
    """Safe lines that follow each other, each coloured as markup of its own; plain if the clock
    (`time.monotonic`) shows a later time than `until` before they are coloured."""
    text = "".join(f"{text}\n" for text in texts)
    left = min(until - time.monotonic(), SECONDS)
    if lexer is None or left <= 0:
        return [escape(text) for text in texts]
    drawn = (_highlighted(text, lexer, left) or "").split("\n")[:-1]
    if len(drawn) != len(texts):
        return [escape(text) for text in texts]
    return [Markup(each) for each in drawn]  # noqa: S704 - it escapes


@lru_cache(maxsize=128)
def _kept(text: str, lexer: str) -> Markup:
    return _drawn(text, lexer)


def _drawn(text: str, lexer: str) -> Markup:
    """Raises TimeoutError, so that a plain text is not cached."""
    drawn = _highlighted(text, lexer, SECONDS)
    if drawn is None:
        raise TimeoutError
    return Markup(drawn)  # noqa: S704 - it escapes


def _highlighted(text: str, lexer: str, seconds: float) -> str | None:
    """None for a text that is too long, or takes too long."""
    if len(text) > MOST:
        return None
    html: str | None = _process().ask({"code": text, "lexer": lexer}, seconds)
    return html


@cache
def _process() -> TextProcess:
    return TextProcess()


@cache
def _by_name() -> Mapping[str, str]:
    """The lexers by the names and endings of files, and by the names of languages."""
    pairs = ((name, lexer) for lexer, names in LEXERS.items() for name in (lexer, *names))
    return dict(pairs)

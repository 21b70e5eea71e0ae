"""Code with syntax colours, and two texts as a diff.

Another process computes both, because an untrusted text may take minutes (`text_process`). A text
that takes too long is shown without colours, or is not compared.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Final

from markupsafe import Markup, escape

from api.http.foreign_text import visible
from api.pages.format.text_process import shared_process

MAX_CHARACTERS = 50_000
"""The longest text that is coloured."""
MAX_CACHED_CHARACTERS = 5_000
"""The longest text with markup in the cache. An event holds no longer part of a run's code, and a
full cache takes some MB."""
COLOUR_SECONDS = 2.0
"""How long colours may take."""
MAX_COMPARED_LINES = 4_000
"""The longest side of a comparison."""
COMPARE_SECONDS = 5.0
"""How long a comparison may take. If lines repeat, twice as many lines take eight times as long."""
_LINE_KINDS = {"+": "added", "-": "removed", "@": "place"}
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
"""The languages that have colours: Pygments' name of each, with the endings and names of its files,
and its other names. Pygments has lexers for 500 more languages, and some of them need minutes."""


def highlight(code: str, language: str = "python", name: str = "") -> Markup:
    """A program with colours. If there is a `name`, the name of the file decides the language."""
    text = visible(code.rstrip("\n"))
    lexer = lexer_of(name) if name else _lexers_by_name().get(language.lower())
    if lexer is None:
        return escape(text)
    try:
        is_cached = len(text) <= MAX_CACHED_CHARACTERS
        return (_highlight_cached if is_cached else _highlight)(text, lexer)
    except TimeoutError:
        return escape(text)


def lexer_of(path: str) -> str | None:
    """The lexer for a file of this name; None if its language has no colours."""
    name = path.rpartition("/")[2]
    ending = name[name.rfind(".") :].lower() if "." in name else name
    return _lexers_by_name().get(name) or _lexers_by_name().get(ending)


def coloured_lines(texts: Sequence[str], lexer: str | None, deadline: float) -> list[Markup]:
    """Consecutive lines of a file, each coloured as markup of its own. They are plain if they are
    not coloured before the `deadline` (of `time.monotonic`)."""
    text = "".join(f"{text}\n" for text in texts)
    seconds = min(deadline - time.monotonic(), COLOUR_SECONDS)
    if lexer is None or seconds <= 0:
        return [escape(text) for text in texts]
    html_lines = (_compute_colours(text, lexer, seconds) or "").split("\n")[:-1]
    if len(html_lines) != len(texts):
        return [escape(text) for text in texts]
    return [Markup(line) for line in html_lines]  # noqa: S704 - Pygments escapes


def compare_lines(before: Sequence[str], after: Sequence[str]) -> Sequence[str] | None:
    """The lines of a unified diff without a header. None if a side has more than
    `MAX_COMPARED_LINES`, or if it takes more than `COMPARE_SECONDS`. Do not call it in the event
    loop."""
    if max(len(before), len(after)) > MAX_COMPARED_LINES:
        return None
    lines: list[str] | None = shared_process().ask(
        {"before": before, "after": after}, COMPARE_SECONDS
    )
    return lines


def unified(diff: str) -> Markup:
    """A unified diff, each line in a span with its kind as class. A carriage return is spelled out,
    because it may be the only difference."""
    spans = []
    for line in diff.rstrip("\n").split("\n"):
        is_header = line.startswith(("+++", "---"))
        kind = "place" if is_header else _LINE_KINDS.get(line[:1], "same")
        spans.append(Markup('<span class="d-{}">{}</span>').format(kind, escape(visible(line))))
    return Markup("\n").join(spans)


@lru_cache(maxsize=128)
def _highlight_cached(text: str, lexer: str) -> Markup:
    return _highlight(text, lexer)


def _highlight(text: str, lexer: str) -> Markup:
    """Raises TimeoutError, so that a plain text is not cached."""
    html = _compute_colours(text, lexer, COLOUR_SECONDS)
    if html is None:
        raise TimeoutError
    return Markup(html)  # noqa: S704 - Pygments escapes


def _compute_colours(text: str, lexer: str, seconds: float) -> str | None:
    """HTML; None for a text that is too long, or takes too long."""
    if len(text) > MAX_CHARACTERS:
        return None
    html: str | None = shared_process().ask({"code": text, "lexer": lexer}, seconds)
    return html


@cache
def _lexers_by_name() -> Mapping[str, str]:
    """The lexers by the names and endings of files, and by the names of languages."""
    pairs = ((name, lexer) for lexer, names in LEXERS.items() for name in (lexer, *names))
    return dict(pairs)

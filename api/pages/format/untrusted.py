"""Untrusted texts as markup: a model's answer (Markdown), and a program's output. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict
from markupsafe import Markup, escape

from api.http.foreign_text import visible
from api.pages.format.code import highlight

MAX_CHARACTERS = 50_000
"""The longest text that is parsed as Markdown, which takes half a second. A longer text is shown
unformatted."""
MAX_CACHED_CHARACTERS = 5_000
"""The longest text with HTML in the cache. Answers are not longer."""
_ESCAPE_SEQUENCE = re.compile(
    r"\x1b(?:\][^\x07\x1b]*(?:\x07|\x1b\\)?|[PX^_][^\x1b]*(?:\x1b\\)?|\[[0-?]*[ -/]*[@-~])"
)
"""Colours, titles, links and cursor movements of a terminal."""


def prose(text: str) -> Markup:
    """Markdown as HTML, without raw HTML and without external pictures."""
    if len(text) > MAX_CHARACTERS:
        return Markup('<pre class="output">{}</pre>').format(escape(visible(text)))
    return (_render_cached if len(text) <= MAX_CACHED_CHARACTERS else _render)(text)


def inline(text: str) -> Markup:
    """One line of Markdown, such as a step of a plan."""
    return Markup(_parser().renderInline(visible(text)))  # noqa: S704 - html is off


def printed(text: str) -> Markup:
    """A program's output without control sequences, escaped. A line that was overwritten, such as a
    progress bar, has its last state and the number of its earlier states."""
    plain = _ESCAPE_SEQUENCE.sub("", text.replace("\r\n", "\n"))
    return Markup("\n").join(map(_printed_line, plain.split("\n")))


def _printed_line(line: str) -> Markup:
    states = [state for state in line.split("\r") if state.strip()] or [line.rpartition("\r")[2]]
    earlier = len(states) - 1
    note = Markup(' <span class="t-dim">↺ {} before</span>').format(earlier) if earlier else ""
    return escape(visible(states[-1])) + note


@lru_cache(maxsize=128)
def _render_cached(text: str) -> Markup:
    return _render(text)


def _render(text: str) -> Markup:
    return Markup(_parser().render(visible(text)))  # noqa: S704 - html is off


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "highlight": _highlight}).enable("table")
    parser.disable("image")
    parser.add_render_rule("link_open", _open_link)
    for level in ("heading_open", "heading_close"):
        parser.add_render_rule(level, _heading)
    return parser


def _highlight(code: str, language: str, _: str) -> str:
    return str(highlight(code, language or "text"))


def _open_link(
    self: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, _: Any
) -> str:
    tokens[index].attrSet("rel", "noopener noreferrer nofollow")
    tokens[index].attrSet("target", "_blank")
    return self.renderToken(tokens, index, options, {})


def _heading(
    self: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, _: Any
) -> str:
    # A model's headings rank below the headings of the page.
    tokens[index].tag = f"h{min(int(tokens[index].tag[1]) + 2, 6)}"
    return self.renderToken(tokens, index, options, {})

"""Untrusted texts as markup: a model's answer (Markdown), and a program's output. Pure.

A model's answer can imitate Fettle's own words. So it has no headings and no pictures, a link goes
to another site and shows its host, and `.agent` (`job.css`) gives it a frame and a typeface of its
own.
"""

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
from jobs.model.visibility import drop_emoji_selectors

MAX_CHARACTERS = 50_000
"""The longest text that is parsed as Markdown, which takes half a second. A longer text is shown
unformatted."""
MAX_CACHED_CHARACTERS = 5_000
"""The longest text with HTML in the cache. Answers are not longer."""
_LINK = re.compile(
    r"https?://(?P<host>[a-z0-9.-]+|\[[0-9a-f:.]+\])(:\d+)?([/?#].*)?", re.DOTALL | re.IGNORECASE
)
"""The address of a link. Addresses with a user name or an escaped host could hide the host."""
_QUOTED = re.compile(r"([^`]*)`(.+)`([^`]*)", re.DOTALL)
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
    return Markup(_parser().renderInline(visible(drop_emoji_selectors(text))))  # noqa: S704 - html is off


def sentence(text: str) -> Markup:
    """A sentence with a quotation between backticks, such as a command, as code. All text between
    the first and the last backtick is code, so that a quotation with a backtick cannot end it."""
    quoted = _QUOTED.fullmatch(visible(text))
    if quoted is None:
        return escape(visible(text))
    return Markup("{}<code>{}</code>{}").format(*quoted.groups())


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
    return Markup(_parser().render(visible(drop_emoji_selectors(text))))  # noqa: S704 - html is off


class _Parser(MarkdownIt):
    """Markdown without links to Fettle itself, and without schemes other than http and https."""

    def validateLink(self, url: str) -> bool:  # noqa: N802 - the library's name
        return _LINK.fullmatch(url) is not None


@cache
def _parser() -> MarkdownIt:
    parser = _Parser("commonmark", {"html": False, "highlight": _highlight}).enable("table")
    parser.disable("image")
    parser.add_render_rule("link_open", _open_link)
    parser.add_render_rule("link_close", _close_link)
    for rule in ("heading_open", "heading_close"):
        parser.add_render_rule(rule, _heading)
    return parser


def _highlight(code: str, language: str, _: str) -> str:
    return str(highlight(code, language or "text"))


def _open_link(
    self: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, _: Any
) -> str:
    tokens[index].attrSet("rel", "noopener noreferrer nofollow")
    tokens[index].attrSet("target", "_blank")
    return self.renderToken(tokens, index, options, {})


def _close_link(
    self: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, _: Any
) -> str:
    opening = index
    while tokens[opening].type != "link_open":
        opening -= 1
    address = _LINK.fullmatch(str(tokens[opening].attrGet("href")))
    host = address["host"] if address else ""
    closed = self.renderToken(tokens, index, options, {})
    return f'{closed} <span class="host">({escape(host)})</span>'


def _heading(
    self: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, _: Any
) -> str:
    tokens[index].tag = "p"
    return self.renderToken(tokens, index, options, {})

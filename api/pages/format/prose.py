"""A model's answer as HTML: Markdown without raw HTML and without external pictures. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict
from markupsafe import Markup, escape

from api.http.foreign_text import visible
from api.pages.format.code import coloured

MOST = 50_000
"""The most characters that are parsed as Markdown, which takes half a second. A longer text is
shown unformatted."""
MOST_KEPT = 5_000
"""The most characters of a text whose HTML is cached; answers are not longer."""


def shown(text: str) -> Markup:
    """The text as HTML; raw HTML in it is shown as text."""
    if len(text) > MOST:
        return Markup('<pre class="output">{}</pre>').format(escape(visible(text)))
    return (_kept if len(text) <= MOST_KEPT else _rendered)(text)


@lru_cache(maxsize=128)
def _kept(text: str) -> Markup:
    return _rendered(text)


def _rendered(text: str) -> Markup:
    return Markup(_parser().render(visible(text)))  # noqa: S704 - html is off


def line(text: str) -> Markup:
    """One line of Markdown, such as a step of a plan."""
    return Markup(_parser().renderInline(visible(text)))  # noqa: S704 - html is off


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "highlight": _coloured}).enable("table")
    parser.disable("image")
    parser.add_render_rule("link_open", _link)
    for level in ("heading_open", "heading_close"):
        parser.add_render_rule(level, _heading)
    return parser


def _coloured(code: str, language: str, _: str) -> str:
    return str(coloured(code, language or "text"))


def _link(
    self: RendererHTML, tokens: Sequence[Token], place: int, options: OptionsDict, _: Any
) -> str:
    tokens[place].attrSet("rel", "noopener noreferrer nofollow")
    tokens[place].attrSet("target", "_blank")
    return self.renderToken(tokens, place, options, {})


def _heading(
    self: RendererHTML, tokens: Sequence[Token], place: int, options: OptionsDict, _: Any
) -> str:
    # a model's headings rank below the page's
    tokens[place].tag = f"h{min(int(tokens[place].tag[1]) + 2, 6)}"
    return self.renderToken(tokens, place, options, {})

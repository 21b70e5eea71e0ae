"""Extracts the text of a page. Input: {base, offset, characters} as JSON in the first line, then
HTML. Output: {title, text, total} as JSON.

It runs in a sandbox: pages are untrusted, and parsing one can take longer than its size suggests.
"""

from __future__ import annotations

import json
import re
import sys
from html.parser import HTMLParser
from urllib.parse import urljoin

TITLE_CHARACTERS = 200
"""The length to which a title is cut: a page can have a title of a megabyte."""
SKIPPED = {"script", "style", "noscript", "template", "svg", "math", "iframe", "object"}
BLOCKS = {
    *("p", "div", "section", "article", "header", "footer", "main", "nav", "aside", "br", "hr"),
    *("h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "dl", "dt", "dd", "table", "tr", "pre"),
    *("blockquote", "figure", "figcaption", "form", "fieldset", "details", "summary"),
}


class Reader(HTMLParser):
    """Collects text in lines; links as [text](address)."""

    def __init__(self, base: str) -> None:
        super().__init__(convert_charrefs=True)
        self.base = base
        self.title = ""
        self.parts: list[str] = []
        self.skipped: list[str] = []
        self.links: list[str] = []
        self.pre = 0
        self.in_title = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An opening tag."""
        self.in_title = tag == "title"
        if tag in SKIPPED:
            self.skipped.append(tag)
        elif tag == "a" and not self.skipped:
            self.links.append(dict(attrs).get("href") or "")
            self.parts.append("[")
        elif tag == "li":
            self.parts.append("\n- ")
        elif tag in {"td", "th"}:
            self.parts.append(" | ")
        elif tag in BLOCKS:
            self.parts.append("\n")
        self.pre += tag == "pre"

    def handle_endtag(self, tag: str) -> None:
        """A closing tag, perhaps without an opening tag."""
        self.in_title = False
        if tag in self.skipped:
            del self.skipped[self.skipped.index(tag) :]
        elif tag == "a" and self.links and not self.skipped:
            address = self.links.pop()
            plain = not address or address.startswith("#")
            self.parts.append("]" if plain else f"]({join_address(self.base, address)})")
        elif tag in BLOCKS:
            self.parts.append("\n")
        self.pre -= tag == "pre" and self.pre > 0

    def handle_data(self, data: str) -> None:
        """Text."""
        if self.in_title and not self.title:
            self.title = " ".join(data.split())[:TITLE_CHARACTERS]
        elif not self.skipped:
            self.parts.append(data if self.pre else re.sub(r"\s+", " ", data))

    @property
    def text(self) -> str:
        """The collected text, without repeated empty lines and trailing blanks."""
        lines = (line.rstrip() for line in "".join(self.parts).split("\n"))
        text = "\n".join(line if line.startswith("  ") else line.lstrip() for line in lines)
        return re.sub(r"\n{3,}", "\n\n", text).strip()


def join_address(base: str, address: str) -> str:
    """A link as a full address."""
    try:
        return urljoin(base, address)
    except ValueError:
        return address


if __name__ == "__main__":
    request = json.loads(sys.stdin.buffer.readline())
    reader = Reader(request["base"])
    reader.feed(sys.stdin.buffer.read().decode(errors="replace"))
    reader.close()
    text = reader.text
    offset = request["offset"]
    part = text[offset : offset + request["characters"]]
    answer = {"title": reader.title, "text": part, "total": len(text)}
    sys.stdout.buffer.write(json.dumps(answer, ensure_ascii=False).encode(errors="replace"))

"""The index: which files there are of a package (PEP 503 and PEP 691), and the files themselves."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

from agents.errors import ToolRefused
from agents.outside import Page
from worker.reach.reach import Answered, Reach

JSON = "application/vnd.pypi.simple.v1+json"
ACCEPT = f"{JSON}, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"


@dataclass(frozen=True, slots=True)
class Link:
    """One file of a package. `sha256` is None where the index tells none."""

    filename: str
    url: str
    sha256: str | None = None
    requires_python: str | None = None
    yanked: bool = False


@dataclass(frozen=True, slots=True)
class Index:
    """`url` ends with a slash. `pages` and `files` differ in how much they take."""

    url: str
    pages: Reach
    files: Reach

    async def links(self, name: str) -> list[Link]:
        """The files of a package, by its normalized name; none where the index has no such."""
        try:
            page = await self.pages.get(f"{self.url}{name}/")
        except Answered as answered:
            if answered.status in {404, 410}:
                return []
            raise
        return links_of(page)

    async def content(self, link: Link) -> bytes:
        """A file's bytes, which are those that the index has told of. Raises ToolRefused."""
        content = (await self.files.get(link.url)).body
        if link.sha256 is not None and hashlib.sha256(content).hexdigest() != link.sha256:
            raise ToolRefused(f"{link.filename} is not what the index tells: its sha256 differs")
        return content


def links_of(page: Page) -> list[Link]:
    """The files that a page of the index lists. Pure."""
    try:
        found = _of_json(page) if page.media_type == JSON else _of_html(page)
        return list(found)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ToolRefused(f"the index cannot be read: {page.url}: {error}") from None


def _of_json(page: Page) -> Iterator[Link]:
    for each in json.loads(page.body)["files"]:
        yield Link(
            filename=str(each["filename"]),
            url=urljoin(page.url, each["url"]),
            sha256=each.get("hashes", {}).get("sha256"),
            requires_python=each.get("requires-python"),
            yanked=bool(each.get("yanked")),
        )


def _of_html(page: Page) -> Iterator[Link]:
    anchors = _Anchors()
    anchors.feed(page.body.decode(errors="replace"))
    for each in anchors.found:
        url, _, fragment = urljoin(page.url, each.get("href") or "").partition("#")
        kind, _, value = fragment.partition("=")
        yield Link(
            filename=unquote(urlsplit(url).path.rpartition("/")[2]),
            url=url,
            sha256=value if kind == "sha256" else None,
            requires_python=each.get("data-requires-python"),
            yanked="data-yanked" in each,
        )


@dataclass
class _Anchors(HTMLParser):
    found: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "a":
            self.found.append(dict(attrs))

"""Read the project's Markdown pages: tables by their heading, and links."""

from __future__ import annotations

import re
from pathlib import Path

REPOSITORY = Path(__file__).parents[3]


def table_after(page: Path, heading: str) -> list[list[str]]:
    """The cells of the first table below a heading, by row, without the header row."""
    lines = iter(page.read_text().splitlines())
    assert heading in lines, f"{page.name} has no heading {heading!r}"
    rows: list[list[str]] = []
    for line in lines:
        if line.startswith("|"):
            cells = re.split(r"(?<!\\)\|", line.strip()[1:-1])
            rows.append([cell.strip().replace("\\|", "|") for cell in cells])
        elif rows:
            break
    return rows[2:]


def links(page: Path) -> list[str]:
    """The targets of a page's links and images, except in code blocks."""
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    return re.findall(r"\]\(([^)\s]+)\)", text)


def anchors(page: Path) -> set[str]:
    """The fragments (`#...`) that a link to the page may have: its headings, in GitHub's
    spelling.
    """
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower() for heading in headings]
    return {re.sub(r"[^\w\- ]", "", heading).replace(" ", "-") for heading in plain}

"""The text of a pull request, and of a commit. Pure.

A model has written some of it, and a forge acts on what it reads in a text: names are notified,
`fixes #1` closes, `[skip ci]` leaves out the tests, and in GitLab a line `/merge` is a command. In
a block of code of a pull request none of it counts; elsewhere, a space breaks what would.
"""

from __future__ import annotations

import re

from agents.texts import head_and_tail, one_line

TITLE = 72
TASK = 4_000
SUMMARY = 8_000
"""Characters."""
_BEGINS = re.compile(
    r"[#@](?=\w)|[!&](?=\d)|\bGH-(?=\d)|://(?=\w)|\[(?=\w)|\*{3}(?=\w)|^[ \t]*/(?=\w)",
    re.IGNORECASE | re.MULTILINE,
)
"""What a reference, a mention or a command begins with: of issues and requests (also by URL), of
names, of what tells a CI to stay away, and at the beginning of a line."""


def inert(said: str) -> str:
    """The same in words, with nothing that a forge acts on."""
    return _BEGINS.sub(r"\g<0> ", said.replace("\0", ""))


def title(task: str) -> str:
    """A pull request's title, and a commit's first line."""
    return one_line(inert(task), TITLE)


def message(job_id: str, task: str, summary: str) -> str:
    """A commit's message. What git takes for trailers is its last paragraph alone."""
    parts = (title(task), inert(summary).strip(), f"Fettle-Job: {job_id}")
    return "\n\n".join(part for part in parts if part)


def text(job_id: str, task: str, summary: str) -> str:
    """What the job was asked, and what it says of its change."""
    parts = [
        f"Job `{job_id}` of Fettle. It was asked:",
        _block(task, TASK),
        "It says of this change:" if summary.strip() else "",
        _block(summary, SUMMARY) if summary.strip() else "",
        "The change was approved before it was pushed.",
    ]
    return "\n\n".join(part for part in parts if part)


def _block(said: str, most: int) -> str:
    shown = head_and_tail(said.strip(), most)
    longest = max(map(len, re.findall("`+", shown)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{shown}\n{fence}"

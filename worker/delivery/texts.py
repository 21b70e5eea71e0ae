"""The text of a pull request, and of a commit. Pure.

A model wrote parts of these texts, and a forge acts on words in them: it notifies people, `fixes
#1` closes an issue, `[skip ci]` skips the tests, and in GitLab a line `/merge` is a command. A
forge ignores such words in a code block of a pull request; elsewhere, an added space breaks them.
"""

from __future__ import annotations

import re

from agents.texts import head_and_tail, one_line

TITLE = 72
TASK = 4_000
SUMMARY = 8_000
"""Characters."""
_TRIGGERS = re.compile(
    r"[#@](?=\w)|[!&](?=\d)|\bGH-(?=\d)|://(?=\w)|\[(?=\w)|\*{3}(?=\w)|^[ \t]*/(?=\w)",
    re.IGNORECASE | re.MULTILINE,
)
"""The beginnings of references to issues and requests (also by URL), of mentions, of instructions
for a CI, and of commands at the beginning of a line."""


def inert(text: str) -> str:
    """The text with spaces, so that a forge acts on no part of it."""
    return _TRIGGERS.sub(r"\g<0> ", text.replace("\0", ""))


def title(task: str) -> str:
    """A pull request's title, and a commit's first line."""
    return one_line(inert(task), TITLE)


def message(job_id: str, task: str, summary: str) -> str:
    """A commit's message. Git reads trailers only in the last paragraph."""
    parts = (title(task), inert(summary).strip(), f"Fettle-Job: {job_id}")
    return "\n\n".join(part for part in parts if part)


def text(job_id: str, task: str, summary: str) -> str:
    """The text of a pull request: the task of the job, and its summary of the change."""
    parts = [
        f"Job `{job_id}` of Fettle. It was asked:",
        _block(task, TASK),
        "It says of this change:" if summary.strip() else "",
        _block(summary, SUMMARY) if summary.strip() else "",
        "The change was approved before it was pushed.",
    ]
    return "\n\n".join(part for part in parts if part)


def _block(text: str, max_characters: int) -> str:
    excerpt = head_and_tail(text.strip(), max_characters)
    longest = max(map(len, re.findall("`+", excerpt)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{excerpt}\n{fence}"

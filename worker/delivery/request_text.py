"""The text of a pull request. Pure.

A model has written some of it, and a forge acts on what it reads in a text: names are notified,
`fixes #1` closes, and in GitLab a line `/merge` is a command. In a block of code none of it counts.
"""

from __future__ import annotations

import re

from agents.texts import head_and_tail

TITLE = 72
TASK = 4_000
SUMMARY = 8_000
"""Characters."""


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

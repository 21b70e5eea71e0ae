"""A task in two halves: its text for two jobs, and its shipped fix as two patches. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lab.evals.repos.task import RepoTask

FIRST = "\n\nThis is the first of two jobs. Do a useful part of it, and name the rest.\n"
SECOND = "Do the rest of this, so that all of it is done:\n\n"
_FILE = re.compile(rb"^(?=diff --git )", re.MULTILINE)
_HUNK = re.compile(rb"^(?=@@ -)", re.MULTILINE)
_PLAIN_LINES = 4
"""The lines of the head of a file whose content alone changes."""


def task_halves(task: RepoTask) -> tuple[str, str]:
    """The texts of the first job and of its follow-up."""
    if task.then:
        return task.problem, task.then
    return task.problem.rstrip() + FIRST, SECOND + task.problem


def fix_halves(task: RepoTask) -> tuple[bytes, bytes]:
    """Two patches that make the shipped fix together, each for `git apply` on the base. If the fix
    is one hunk, the second half is the patch of the hidden tests."""
    sections = _FILE.split(task.fix)[1:]
    parts = [part for section in sections for part in _hunks(section)]
    if len(parts) < 2:
        return task.fix, task.tests
    middle = len(parts) // 2
    return _joined(parts[:middle]), _joined(parts[middle:])


def _hunks(section: bytes) -> list[tuple[bytes, bytes]]:
    """The hunks of a file, each with the head of the file. A file that is new, removed or renamed,
    or that changes its mode, stays one part."""
    head, *hunks = _HUNK.split(section)
    changes_content = b"\nindex " in head and b"/dev/null" not in head
    if hunks and changes_content and head.count(b"\n") <= _PLAIN_LINES:
        return [(head, hunk) for hunk in hunks]
    return [(section, b"")]


def _joined(parts: Sequence[tuple[bytes, bytes]]) -> bytes:
    sections: dict[bytes, bytes] = {}
    for head, hunk in parts:
        sections[head] = sections.get(head, b"") + hunk
    return b"".join(head + hunks for head, hunks in sections.items())

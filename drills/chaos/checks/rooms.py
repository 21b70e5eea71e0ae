"""J14: no sandbox outlives its run, none its worker."""

from __future__ import annotations

from collections.abc import Iterator

from drills.chaos.case import Case, Finding
from drills.chaos.oplog import Left


def nothing_left(case: Case) -> Iterator[Finding]:
    """No process was found that should have ended."""
    for entry in case.all(Left):
        yield "", f"process {entry.pid} ({entry.command}) {entry.why}"

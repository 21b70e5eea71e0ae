"""Counting what the processes of a room have locked of files.

Each such lock of a process takes memory of the kernel's that nobody is charged for (CVE-2022-0480),
and there is no bound to their number. The kernel's table of them says whose they are, and tells a
room of no others' but those of open files, which are not counted: a room can have none. It does not
tell those of a process that is gone, where another one keeps them: nor can a room have such
(`conditions.py`). It is masked, and was opened before that (`isolation.py`).
"""

from __future__ import annotations

import os

MOST = 4096
"""More end a run: programs have a handful. They take a MiB, and reading of them some 2 ms."""
WORTH_SECONDS = 0.02
"""Of system time: in less, nobody makes so many that it would be worth a look."""
_TABLE_BYTES = 512 << 10
"""Of the table: a machine's own locks may fill it."""
_AT_ONCE = 64 << 10


def held(table: int) -> int:
    """How many there are; counted no further than a little beyond `MOST`."""
    count = place = 0
    while count <= MOST and place < _TABLE_BYTES:
        text = os.pread(table, _AT_ONCE, place)
        if not text:
            break
        count += text.count(b" POSIX ")  # whole lines: the kernel breaks none
        place += len(text)
    return count

"""Asking for one line at a terminal, so that Ctrl-C is always heard."""

from __future__ import annotations

import select
import sys

LOOK_SECONDS = 0.2


def ask_line(question: str) -> str:
    """What was typed behind the question, without spaces around it. Raises EOFError at its end.

    Python's own `input` sleeps through a signal that comes just before it begins to wait.
    """
    sys.stdout.write(question)
    sys.stdout.flush()
    while not select.select([sys.stdin], [], [], LOOK_SECONDS)[0]:
        continue
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.strip()

"""GraphFormat: the format of a job's checkpoints. `agents/graph/checkpoint_format.py` says what a
number means, and which ones this release reads."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GraphFormat:
    """`number` of the form, and the `release` of Fettle that wrote it ('': it did not say)."""

    number: int
    release: str = ""

    def __str__(self) -> str:
        return f"{self.number} {self.release}".rstrip()

    @classmethod
    def parse(cls, text: str) -> GraphFormat:
        """What `str` wrote. Raises ValueError."""
        number, _, release = text.partition(" ")
        return cls(int(number), release)


UNSAID = GraphFormat(1)
"""Of checkpoints whose job's record names no format: releases before there was one."""
ANEW = GraphFormat(0)
"""Of a job that restarts from its task: the checkpoints that it has do not count."""

"""Conversations in one process: the line of jobs that are not final, and the finished turns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from jobs.record import JobRecord
from jobs.store import TURNS_KEPT, Turn

Conversation = tuple[str, str]


class MemoryTalks:
    """Lines and turns, by tenant and conversation."""

    def __init__(self) -> None:
        self._lines: dict[Conversation, list[str]] = defaultdict(list)
        self._turns: dict[Conversation, list[Turn]] = defaultdict(list)

    def enter(self, record: JobRecord) -> bool:
        """A new job, at the end of its line; whether it is the first."""
        self._lines[_of(record)].append(record.id)
        return len(self._lines[_of(record)]) == 1

    def head(self, tenant: str, conversation_id: str) -> str | None:
        """The job at the head of a line."""
        return next(iter(self._lines[tenant, conversation_id]), None)

    def leave(self, record: JobRecord) -> str | None:
        """A job is final; returns the one that is first in its line by that."""
        line = self._lines[_of(record)]
        first = line[:1] == [record.id]
        if record.id in line:
            line.remove(record.id)
        return line[0] if first and line else None

    def told(self, record: JobRecord, turn: Turn) -> None:
        """A finished turn."""
        turns = self._turns[_of(record)]
        turns[:] = [turn, *turns][:TURNS_KEPT]

    def turns(self, tenant: str, conversation_id: str, limit: int) -> Sequence[Turn]:
        """The last of them, newest first."""
        return self._turns[tenant, conversation_id][:limit]

    def forget(self, record: JobRecord) -> None:
        """Remove a job's turn."""
        turns = self._turns[_of(record)]
        turns[:] = [turn for turn in turns if turn.job_id != record.id]


def _of(record: JobRecord) -> Conversation:
    return record.tenant, record.conversation_id

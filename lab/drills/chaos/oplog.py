"""OperationLog: the client side's requests, answers and events, in order, as JSON lines.

    {"what": "submitted", "at": {"wall": 1763771000.1, "mono": 12.5}, "asked": {...}, "status": 202,
     "key": "j-17", "body": "5d41402a", "job_id": "8c0f..."}

The log is not part of the deployment: the checker compares the deployment's records with the
answers that the client received.
"""

from __future__ import annotations

import json
import threading
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Self


@dataclass(frozen=True, slots=True)
class Moment:
    """`wall` is the time in seconds since 1970, as Redis has it; `mono` is for durations between
    two moments.
    """

    wall: float
    mono: float

    @classmethod
    def now(cls) -> Self:
        """The present moment."""
        return cls(time.time(), time.monotonic())


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """An entry; `at` is the time at which this process learned of it."""

    at: Moment = field(default_factory=Moment.now)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered(Entry):
    """A request. `asked` is the time at which it was sent, `status` its HTTP status. None: there
    was no answer, so the request may or may not have been carried out.
    """

    asked: Moment
    status: int | None

    @property
    def granted(self) -> bool:
        """Whether the service answered that it carried out the request."""
        return self.status is not None and 200 <= self.status < 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted(Answered):
    """POST /jobs with an Idempotency-Key; `body` is a digest of the body, `job_id` comes from the
    answer.
    """

    key: str
    body: str
    job_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided(Answered):
    """POST /jobs/{id}/review, for the named review."""

    job_id: str
    review_id: str
    action: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancelled(Answered):
    """POST /jobs/{id}/cancel."""

    job_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Retried(Answered):
    """POST /jobs/{id}/retry; `retry_job` is the new job."""

    job_id: str
    retry_job: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen(Entry):
    """The status of a job in the answer to GET /jobs/{id}."""

    job_id: str
    status: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Connected(Entry):
    """A reader's stream starts, after the event `after` (Last-Event-ID)."""

    job_id: str
    reader: str
    after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Received(Entry):
    """An event that a stream sent to a reader."""

    job_id: str
    reader: str
    seq: int
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Called(Entry):
    """A request that the model's provider received and answers in full, so that it is paid.

    `said` is a digest of the request's texts, `caller` the pid of the worker, if known. `at` is the
    time of its arrival. If a provider does not know the job's id, it names the Idempotency-Key.
    """

    said: str
    job_id: str = ""
    key: str = ""
    caller: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Struck(Entry):
    """A fault. `pids` are the processes that it hit, `jobs` the ids of the records that it hit.

    If it `blinds`, no job can continue during the fault.
    """

    fault: str
    pids: tuple[int, ...] = ()
    jobs: tuple[str, ...] = ()
    blinds: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Repaired(Entry):
    """The effect of a fault has ended."""

    fault: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Left(Entry):
    """A process that should have ended with its run or its worker, but has not; `why` is the reason
    why it should have ended.
    """

    pid: int
    command: str
    why: str


class OperationLog:
    """Entries in the order in which they became known; safe for use by any thread.

    With a path, each entry is written there at once, so that the log outlives its writer.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._entries: list[Entry] = []
        self._lock = threading.Lock()
        self._file: IO[str] | None = path.open("a", encoding="utf-8") if path else None

    def add(self, entry: Entry) -> None:
        """Append an entry."""
        with self._lock:
            self._entries.append(entry)
            if self._file is not None:
                self._file.write(written(entry) + "\n")
                self._file.flush()

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All entries so far."""
        with self._lock:
            return tuple(self._entries)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None


def written(entry: Entry) -> str:
    """The entry as a line of the log."""
    line = {"what": type(entry).__name__.lower(), **asdict(entry)}
    return json.dumps(line, ensure_ascii=False, separators=(",", ":"))

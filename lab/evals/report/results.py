"""The file of results: JSON lines, with a header as the first.

Each line is synced to the disk, so `kill -9` loses only unfinished exercises. A truncated last line
is removed when the file is opened again.
"""

from __future__ import annotations

import fcntl
import json
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Self

from lab.evals.errors import BadResults

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Header:
    """What is measured. `id` identifies the measurement; its jobs' idempotency keys contain it.

    `set` is {name, source, digest, exercises}; `settings` {model, repair, judge, max_revisions};
    `versions` has those of fettle, python and the service.
    """

    id: str
    set: Mapping[str, Any]
    settings: Mapping[str, Any]
    versions: Mapping[str, Any]
    began: str
    format: int = FORMAT


@dataclass(frozen=True, slots=True)
class SolutionVerdict:
    """The verdict of the hidden tests on a candidate; `verification` is the job's id."""

    passed: bool
    why: str = ""
    """The reason if the candidate has not passed, or a note. Results files use this name."""
    verification: str | None = None
    digest: str = ""


@dataclass(frozen=True, slots=True)
class Result:
    """One try at an exercise. Without verdicts it was not measured: `why_not` has the reason.

    `failures` are the classes of its failed runs, in order, `models` those that answered (perhaps
    fallbacks); times are in seconds, money in US dollars as a decimal string (null: unknown).
    `score` is the judge's {score, reason, cost_usd, ...}.
    """

    id: str
    repeat: int
    job: str | None = None
    status: str = ""
    reason: str | None = None
    why_not: str | None = None
    level: str = ""
    first: SolutionVerdict | None = None
    final: SolutionVerdict | None = None
    score: Mapping[str, Any] | None = None
    revisions: int = 0
    runs: int = 0
    failures: Sequence[str] = field(default_factory=tuple)
    models: Sequence[str] = field(default_factory=tuple)
    cost: Mapping[str, Any] = field(default_factory=dict)
    worked_seconds: float = 0.0
    job_seconds: float = 0.0
    seconds: float = 0.0
    at: str = ""

    @property
    def measured(self) -> bool:
        """Whether the result counts for the model."""
        return self.why_not is None


def read_results(path: Path) -> tuple[Header, list[Result]]:
    """A file of results; the last line of a try counts. Raises BadResults."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise BadResults(f"{path} cannot be read", str(error)) from None
    return parse_results(content, str(path))


def parse_results(content: bytes, path: str) -> tuple[Header, list[Result]]:
    """The bytes of a file of results. `path` is for messages. Raises BadResults."""
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise BadResults(f"{path} cannot be read", str(error)) from None
    header: Header | None = None
    results: dict[tuple[str, int], Result] = {}
    for number, line in enumerate(text.split("\n")[:-1], 1):
        try:
            values = json.loads(line)
            kind = values.pop("kind")
            if kind == "header":
                header = Header(**values)
            elif kind == "result":
                result = result_of_fields(values)
                results[result.id, result.repeat] = result
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise BadResults(f"{path}:{number} is not a result", str(error)) from None
    if header is None:
        raise BadResults(f"{path} has no results")
    if header.format != FORMAT:
        raise BadResults(f"{path} has format {header.format}", f"this release reads {FORMAT}")
    return header, list(results.values())


class ResultFile:
    """A file that is being written, locked within the `with` block."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._descriptor = -1

    def __enter__(self) -> Self:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._descriptor)
            raise BadResults(f"{self.path} is being written by another run") from None
        self._remove_truncated_line()
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    @property
    def is_started(self) -> bool:
        """Whether the file is not empty."""
        return os.fstat(self._descriptor).st_size > 0

    def write(self, line: Header | Result) -> None:
        """Append one line and sync it to the disk. Thread-safe."""
        with self._lock:
            os.write(self._descriptor, dump_line(line))
            os.fsync(self._descriptor)

    def _remove_truncated_line(self) -> None:
        """Remove a truncated last line, and continue after the last complete one."""
        size = os.fstat(self._descriptor).st_size
        complete_bytes = os.pread(self._descriptor, size, 0).rfind(b"\n") + 1
        os.ftruncate(self._descriptor, complete_bytes)
        os.lseek(self._descriptor, complete_bytes, os.SEEK_SET)


def dump_line(line: Header | Result) -> bytes:
    """A line of a file of results."""
    kind = "header" if isinstance(line, Header) else "result"
    text = json.dumps({"kind": kind, **asdict(line)}, ensure_ascii=False) + "\n"
    return text.encode("utf-8", "replace")


def header_of_fields(content: Mapping[str, Any]) -> Header:
    """The header with these fields; others are ignored."""
    field_names = {field.name for field in fields(Header)}
    return Header(**{name: value for name, value in content.items() if name in field_names})


def result_of_fields(content: Mapping[str, Any]) -> Result:
    """The result with these fields; others are ignored."""
    field_names = {field.name for field in fields(Result)}
    values = {name: value for name, value in content.items() if name in field_names}
    for name in ("first", "final"):
        if values.get(name) is not None:
            values[name] = SolutionVerdict(**values[name])
    for name in ("failures", "models"):
        values[name] = tuple(values.get(name, ()))
    return Result(**values)

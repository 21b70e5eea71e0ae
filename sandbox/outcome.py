"""Reading what came out of a room. Everything here is the word of a possibly hostile sender. Pure.

A header is checked in full before a byte of what follows it is read, so that a forged one costs
nothing; whatever does not add up raises Forged.
"""

from __future__ import annotations

import codecs
import json
import math
import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sandbox import paths
from sandbox.protocol import Command, End, Limits, RunResult, Stream

HEADER_BYTES = 8 * 1024 * 1024
"""A thousand paths of a KiB, twice, and some."""
_WORDS = 1024
_LIMIT_ENDS = {None, End.TIMEOUT, End.CPU, End.MEMORY, End.OUTPUT, End.DISK}


class Forged(Exception):
    """What came out of the room is not an answer that its agent gives."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A header that was found in order. `sizes` are those of the blobs that follow it."""

    end: End
    exit_code: int | None
    signal: int | None
    seconds: float
    dropped: tuple[int, int]
    changed: tuple[str, ...]
    deleted: frozenset[str]
    refused: tuple[str, ...]
    sizes: tuple[int, ...]


def read_header(text: bytes, command: Command, limits: Limits, elapsed: float) -> Answer:
    """Check a header against what was ordered, `elapsed` seconds ago. Raises Forged."""
    try:
        header = json.loads(text)
        return _answer(header, command, limits, elapsed)
    except (ValueError, TypeError, KeyError, RecursionError, OverflowError) as error:
        raise Forged(f"{type(error).__name__}: {error}") from None


def finish(answer: Answer, blobs: Sequence[bytes]) -> RunResult:
    """The result, from a header and the blobs it announced."""
    out_head, out_tail, err_head, err_tail, *files = blobs
    return RunResult(
        end=answer.end,
        exit_code=answer.exit_code,
        signal=answer.signal,
        stdout=stream(out_head, out_tail, answer.dropped[0]),
        stderr=stream(err_head, err_tail, answer.dropped[1]),
        seconds=answer.seconds,
        changed=dict(zip(answer.changed, files, strict=True)),
        deleted=answer.deleted,
        refused=answer.refused,
    )


def died(end: End, seconds: float) -> RunResult:
    """The result of a room that gave no answer."""
    return RunResult(end, None, None, Stream(), Stream(), seconds)


def stream(head: bytes, tail: bytes, dropped: int) -> Stream:
    """Decode an output, leaving out a character that was cut where bytes were dropped."""
    if not dropped:
        return Stream((head + tail).decode(errors="replace"))
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    start = decoder.decode(head)
    cut = next((at for at in range(min(3, len(tail))) if tail[at] & 0xC0 != 0x80), 0)
    end = tail[cut:].decode(errors="replace")
    return Stream(f"{start}\n[... {dropped} bytes left out ...]\n{end}", dropped)


def _answer(header: Any, command: Command, limits: Limits, elapsed: float) -> Answer:
    _require(isinstance(header, dict), "not an object")
    changed, sizes = _files(header["changed"], limits)
    deleted = _texts(header["deleted"])
    _require(set(deleted) <= command.files.keys(), "a deleted file that was not there")
    paths.require((command.files.keys() - set(deleted)) | set(changed))
    refused = _texts(header["refused"])
    _require(len(refused) <= paths.REFUSALS + 1, "too many refusals")
    _require(all(len(words) <= _WORDS and words.isprintable() for words in refused), "odd words")
    streams, dropped = _streams(header["streams"], limits)
    seconds = header["seconds"]
    _require(isinstance(seconds, float) and math.isfinite(seconds), "no time")
    _require(0.0 <= seconds <= elapsed, "a time that did not pass")
    end, code, number = _end(header, limits)
    return Answer(
        end, code, number, seconds, dropped, changed, frozenset(deleted), refused, streams + sizes
    )


def _end(header: Mapping[str, Any], limits: Limits) -> tuple[End, int | None, int | None]:
    """How the run ended, its exit code and its signal: the first limit hit, else its status."""
    end = None if header["end"] is None else End(header["end"])
    _require(end in _LIMIT_ENDS, "no end of a limit")
    status = _count(header["status"], 0xFFFF)
    if end is not None:
        return end, None, None
    code = os.waitstatus_to_exitcode(status)
    if code >= 0:
        return End.EXITED, code, None
    if -code == signal.SIGXFSZ:
        return End.DISK, None, None
    cpu = header["cpu_seconds"]
    _require(isinstance(cpu, float), "no CPU time")
    if -code == signal.SIGXCPU or (-code == signal.SIGKILL and cpu >= limits.cpu_seconds):
        return End.CPU, None, None
    return End.SIGNALED, None, -code


def _files(value: Any, limits: Limits) -> tuple[tuple[str, ...], tuple[int, ...]]:
    _require(isinstance(value, list) and len(value) <= limits.workspace_files, "too many files")
    names = _texts([name for name, _ in value])
    sizes = tuple(_count(size, limits.file_bytes) for _, size in value)
    _require(len(set(names)) == len(names), "a file twice")
    _require(sum(sizes) <= limits.workspace_bytes, "too many bytes")
    return names, sizes


def _streams(value: Any, limits: Limits) -> tuple[tuple[int, ...], tuple[int, int]]:
    (out_head, out_tail, out_dropped), (err_head, err_tail, err_dropped) = value
    sizes = tuple(
        _count(size, limits.output_bytes) for size in (out_head, out_tail, err_head, err_tail)
    )
    _require(max(sum(sizes[:2]), sum(sizes[2:])) <= limits.output_bytes, "too much output")
    return sizes, (_count(out_dropped, 1 << 40), _count(err_dropped, 1 << 40))


def _texts(value: Any) -> tuple[str, ...]:
    _require(isinstance(value, list) and all(isinstance(each, str) for each in value), "no texts")
    return tuple(value)


def _count(value: Any, most: int) -> int:
    _require(type(value) is int and 0 <= value <= most, "a number out of range")
    return int(value)


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise ValueError(what)

"""Reading what came out of a sandbox. Everything here is the word of a possibly hostile sender.
Pure.

A header is checked in full before a byte of what follows it is read, so that a forged one costs
nothing; whatever does not add up raises Forged.
"""

from __future__ import annotations

import codecs
import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sandbox import paths
from sandbox.agent.wire import lines
from sandbox.order import REMOVED
from sandbox.protocol import Command, End, Limits, RunResult, Stream

HEADER_BYTES = 32 * 1024 * 1024
"""Ten thousand paths of a KiB, twice; what is deleted of layers; and some."""
_WORDS = 1024
_MOST = 1 << 40
_FASTEST = 1.09
"""An agent's clock beside the worker's: that of a remote engine's machine may run 8.3 % faster
while it is set right (chrony's `maxslewrate`).
"""
_SINGLE = ("end", "status", "seconds", "cpu_seconds", "stdout", "stderr")
_REPEATED = ("changed", "link", "executable", "deleted", "refused")
_LIMIT_ENDS = {End.TIMEOUT, End.CPU, End.MEMORY, End.OUTPUT, End.DISK, End.PROCESSES}


class Forged(Exception):
    """What came out of the sandbox is not an answer that its agent gives."""


@dataclass(frozen=True, slots=True)
class ExitReport:
    """How a sandbox ended, as who made it saw it. `lost`: by no fault of what ran in it, and `why`.
    The counts are those of its control group, 0 where it had none.
    """

    lost: bool = False
    oom_kills: int = 0
    refused_forks: int = 0
    why: str = ""


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
    executable: frozenset[str]
    links: tuple[str, ...]
    sizes: tuple[int, ...]


def read_header(text: bytes, command: Command, limits: Limits, elapsed: float) -> Answer:
    """Check a header against what was ordered, `elapsed` seconds ago. Raises Forged."""
    try:
        return _answer(_fields(text), command, limits, elapsed)
    except ValueError as error:
        raise Forged(str(error)) from None


def build_result(answer: Answer, blobs: Sequence[bytes]) -> RunResult:
    """The result, from a header and the blobs it announced. Raises Forged."""
    out_head, out_tail, err_head, err_tail, *files = blobs
    targets = [_target(each) for each in files[len(answer.changed) :]]
    return RunResult(
        end=answer.end,
        exit_code=answer.exit_code,
        signal=answer.signal,
        stdout=stream(out_head, out_tail, answer.dropped[0]),
        stderr=stream(err_head, err_tail, answer.dropped[1]),
        seconds=answer.seconds,
        changed=dict(zip(answer.changed, files[: len(answer.changed)], strict=True)),
        deleted=answer.deleted,
        refused=answer.refused,
        executable=answer.executable,
        links=dict(zip(answer.links, targets, strict=True)),
    )


def no_answer(end: End, seconds: float) -> RunResult:
    """The result of a sandbox that gave no answer."""
    return RunResult(end, None, None, Stream(), Stream(), seconds)


def explain_failure(result: RunResult, report: ExitReport) -> RunResult:
    """The result of a run that failed, given what its sandbox's control group has counted."""
    if result.succeeded or result.end not in {End.EXITED, End.SIGNALED, End.KILLED}:
        return result
    if not (report.oom_kills or report.refused_forks):
        return result
    end = End.MEMORY if report.oom_kills else End.PROCESSES
    return replace(result, end=end, exit_code=None, signal=None)


def stream(head: bytes, tail: bytes, dropped: int) -> Stream:
    """Decode an output, leaving out a character that was cut where bytes were dropped."""
    if not dropped:
        return Stream((head + tail).decode(errors="replace"))
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    start = decoder.decode(head)
    starts = (at for at, byte in enumerate(tail[:4]) if byte & 0xC0 != 0x80)
    cut = next(starts, len(tail) if len(tail) < 4 else 0)  # four such bytes are no character's rest
    end = tail[cut:].decode(errors="replace")
    return Stream(f"{start}\n[... {dropped} bytes left out ...]\n{end}", dropped)


def _fields(text: bytes) -> dict[str, list[str]]:
    """The values of each key, in order; just the keys that an agent sends."""
    fields: dict[str, list[str]] = {key: [] for key in (*_SINGLE, *_REPEATED)}
    for key, value in lines(text.decode()):
        _require(key in fields, "an unknown key")
        fields[key].append(value)
    _require(all(len(fields[key]) == 1 for key in _SINGLE), "a key that is not there once")
    return fields


def _answer(
    fields: Mapping[str, list[str]], command: Command, limits: Limits, elapsed: float
) -> Answer:
    names, sizes = _files([*fields["changed"], *fields["link"]], limits)
    changed, links = names[: len(fields["changed"])], names[len(fields["changed"]) :]
    deleted, refused, executable = fields["deleted"], fields["refused"], fields["executable"]
    if not command.collect:
        _require(not (names or deleted or refused), "files that nobody wants")
    _require_deleted(deleted, names, command)
    paths.require((_written(command) - set(deleted)) | set(names))
    _require(all(size <= paths.TARGET_BYTES for size in sizes[len(changed) :]), "too long a link")
    _require(set(executable) <= set(changed), "a mode without a file")
    _require(len(set(executable)) == len(executable), "a mode twice")
    _require(len(refused) <= paths.REFUSALS + 1, "too many refusals")
    _require(all(len(line) <= _WORDS and line.isprintable() for line in refused), "odd words")
    streams = [_stream(fields[name][0], limits) for name in ("stdout", "stderr")]
    seconds = _seconds(fields["seconds"][0])
    _require(seconds <= _FASTEST * elapsed, "a time that did not pass")
    end, code, number = _end(fields, limits)
    return Answer(
        end=end,
        exit_code=code,
        signal=number,
        seconds=min(seconds, elapsed),
        dropped=(streams[0][2], streams[1][2]),
        changed=changed,
        deleted=frozenset(deleted),
        refused=tuple(refused),
        executable=frozenset(executable),
        links=links,
        sizes=(*streams[0][:2], *streams[1][:2], *sizes),
    )


def _require_deleted(deleted: list[str], changed: tuple[str, ...], command: Command) -> None:
    """What the layers have is not known here: of it, any path may be gone that could be there."""
    gone = set(deleted)
    if not command.layers:
        _require(gone <= _written(command), "a deleted file that was not there")
    removed = command.removed - _written(command)
    _require(len(gone) == len(deleted) <= REMOVED, "too many deleted files")
    _require(gone.isdisjoint(changed) and gone.isdisjoint(removed), "a deleted file twice")
    _require(all(paths.fault(path) is None for path in gone), "no path of a workspace")


def _written(command: Command) -> set[str]:
    return command.files.keys() | command.links.keys()


def _target(data: bytes) -> str:
    try:
        target = data.decode()
    except UnicodeDecodeError:
        raise Forged("a link's target that is not UTF-8") from None
    if paths.target_fault(target) is not None:
        raise Forged("a link's target that no agent sends")
    return target


def _end(fields: Mapping[str, list[str]], limits: Limits) -> tuple[End, int | None, int | None]:
    """How the run ended, its exit code and its signal: the first limit hit, else its status."""
    code = os.waitstatus_to_exitcode(_count(fields["status"][0], 0xFFFF))
    cpu = _seconds(fields["cpu_seconds"][0])
    if fields["end"][0] != "-":
        end = End(fields["end"][0])
        _require(end in _LIMIT_ENDS, "no end of a limit")
        return end, None, None
    if code >= 0:
        return End.EXITED, code, None
    if -code == signal.SIGXFSZ:
        return End.DISK, None, None
    if -code == signal.SIGXCPU or (-code == signal.SIGKILL and cpu >= limits.cpu_seconds):
        return End.CPU, None, None
    return End.SIGNALED, None, -code


def _files(values: list[str], limits: Limits) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Names and sizes of the files that changed."""
    _require(len(values) <= limits.workspace_files, "too many files")
    pairs = [value.partition(" ") for value in values]
    names = tuple(name for _, _, name in pairs)
    sizes = tuple(_count(size, limits.file_bytes) for size, _, _ in pairs)
    _require(len(set(names)) == len(names), "a file twice")
    _require(sum(sizes) <= limits.workspace_bytes, "too many bytes")
    return names, sizes


def _stream(value: str, limits: Limits) -> tuple[int, int, int]:
    """A stream's head, tail and dropped bytes, as sizes."""
    head, tail, dropped = (_count(word, _MOST) for word in value.split(" "))
    _require(head + tail <= limits.output_bytes, "too much output")
    return head, tail, dropped


def _count(word: str, most: int) -> int:
    _require(len(word) < 20 and word.isascii() and word.isdecimal(), "no number")
    _require(int(word) <= most, "a number out of range")
    return int(word)


def _seconds(word: str) -> float:
    whole, _, part = word.partition(".")
    return _count(whole, _MOST) + _count(part, 999_999) / 1e6


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise ValueError(what)

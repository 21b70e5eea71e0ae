"""Checks and decodes the answer of a sandbox's agent. The sender may be hostile. Pure.

A header is checked completely before the data after it is read, so that a forged header costs
little. Any inconsistency raises ForgedAnswer.
"""

from __future__ import annotations

import codecs
import os
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sandbox import paths
from sandbox.agent.wire import LIVE, LIVE_BYTES, LIVE_SECONDS, parse_lines
from sandbox.order import MAX_REMOVED
from sandbox.protocol import Command, End, Limits, RunResult, Stream

HEADER_BYTES = 32 * 1024 * 1024
"""Twice ten thousand paths of a KiB, and the deleted paths of trees."""
_MAX_LINE_CHARACTERS = 1024
_MAX_COUNT = 1 << 40
_CLOCK_TOLERANCE = 1.09
"""The clock of a remote engine's machine may run 8.3 % faster while it is corrected (chrony's
`maxslewrate`), and the agent measures with that clock.
"""
_SINGLE = ("end", "status", "seconds", "cpu_seconds", "stdout", "stderr")
_REPEATED = ("changed", "link", "executable", "deleted", "refused")
_LIMIT_ENDS = {End.TIMEOUT, End.CPU, End.MEMORY, End.OUTPUT, End.DISK, End.PROCESSES}


class ForgedAnswer(Exception):
    """The data from the sandbox is not an answer that its agent would send."""


@dataclass(frozen=True, slots=True)
class ExitReport:
    """How a sandbox ended, as its backend observed it. The counts are from its control group, and 0
    if it had none.
    """

    lost: bool = False
    """Whether it ended, and the code in it was not the cause."""
    oom_kills: int = 0
    refused_forks: int = 0
    reason: str = ""
    """Why it was lost."""


@dataclass(frozen=True, slots=True)
class AnswerHeader:
    """A checked header."""

    end: End
    exit_code: int | None
    signal: int | None
    seconds: float
    dropped: tuple[int, int]
    """Dropped bytes of stdout and stderr."""
    changed: tuple[str, ...]
    deleted: frozenset[str]
    refused: tuple[str, ...]
    executable: frozenset[str]
    links: tuple[str, ...]
    sizes: tuple[int, ...]
    """The sizes of the blobs that follow: head and tail of stdout and stderr, the changed files,
    the targets of links."""


def parse_live_header(text: bytes, number: int, elapsed: float) -> int | None:
    """The size of a part of the output that is sent before the answer, `elapsed` seconds after the
    command; `number` counts these parts from 1. None: it is another header. Raises ForgedAnswer for
    more data than an agent sends.
    """
    key, _, size = text.partition(b" ")
    if key != LIVE.encode():
        return None
    is_size = size.isdigit() and len(size) < 6 and int(size) <= LIVE_BYTES
    if not is_size or number > _CLOCK_TOLERANCE * elapsed / LIVE_SECONDS:
        raise ForgedAnswer("more output than an agent sends during a run")
    return int(size)


def parse_header(text: bytes, command: Command, limits: Limits, elapsed: float) -> AnswerHeader:
    """Check a header against a command sent `elapsed` seconds ago. Raises ForgedAnswer."""
    try:
        return _parse(_fields(text), command, limits, elapsed)
    except ValueError as error:
        raise ForgedAnswer(str(error)) from None


def build_result(header: AnswerHeader, blobs: Sequence[bytes]) -> RunResult:
    """The result, from a header and the blobs that it announced. Raises ForgedAnswer."""
    out_head, out_tail, err_head, err_tail, *files = blobs
    targets = [_decode_target(data) for data in files[len(header.changed) :]]
    return RunResult(
        end=header.end,
        exit_code=header.exit_code,
        signal=header.signal,
        stdout=decode_stream(out_head, out_tail, header.dropped[0]),
        stderr=decode_stream(err_head, err_tail, header.dropped[1]),
        seconds=header.seconds,
        changed=dict(zip(header.changed, files[: len(header.changed)], strict=True)),
        deleted=header.deleted,
        refused=header.refused,
        executable=header.executable,
        links=dict(zip(header.links, targets, strict=True)),
    )


def result_without_answer(end: End, seconds: float) -> RunResult:
    """The result of a run if its agent sent no answer."""
    return RunResult(end, None, None, Stream(), Stream(), seconds)


def explain_failure(result: RunResult, report: ExitReport) -> RunResult:
    """The result of a failed run, with the limit that its control group enforced as its end."""
    if result.succeeded or result.end not in {End.EXITED, End.SIGNALED, End.KILLED}:
        return result
    if not (report.oom_kills or report.refused_forks):
        return result
    end = End.MEMORY if report.oom_kills else End.PROCESSES
    return replace(result, end=end, exit_code=None, signal=None)


def decode_stream(head: bytes, tail: bytes, dropped: int) -> Stream:
    """Decode an output. Omits a character that was cut by dropping bytes."""
    if not dropped:
        return Stream((head + tail).decode(errors="replace"))
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    head_text = decoder.decode(head)
    starts = (index for index, byte in enumerate(tail[:4]) if byte & 0xC0 != 0x80)
    # Four continuation bytes cannot be the end of one character.
    cut = next(starts, len(tail) if len(tail) < 4 else 0)
    tail_text = tail[cut:].decode(errors="replace")
    return Stream(f"{head_text}\n[... {dropped} bytes left out ...]\n{tail_text}", dropped)


def _fields(text: bytes) -> dict[str, list[str]]:
    """The values of each key, in order. Only the keys that an agent sends are allowed."""
    fields: dict[str, list[str]] = {key: [] for key in (*_SINGLE, *_REPEATED)}
    for key, value in parse_lines(text.decode()):
        _require(key in fields, "an unknown key")
        fields[key].append(value)
    _require(all(len(fields[key]) == 1 for key in _SINGLE), "a missing or repeated key")
    return fields


def _parse(
    fields: Mapping[str, list[str]], command: Command, limits: Limits, elapsed: float
) -> AnswerHeader:
    names, sizes = _parse_files([*fields["changed"], *fields["link"]], limits)
    changed, links = names[: len(fields["changed"])], names[len(fields["changed"]) :]
    deleted, refused, executable = fields["deleted"], fields["refused"], fields["executable"]
    if not command.collect:
        _require(not (names or deleted or refused), "files that were not requested")
    _require_deleted(deleted, names, command)
    paths.require((_written_paths(command) - set(deleted)) | set(names))
    _require(all(size <= paths.TARGET_BYTES for size in sizes[len(changed) :]), "too long a link")
    _require(set(executable) <= set(changed), "a mode without a file")
    _require(len(set(executable)) == len(executable), "a mode twice")
    _require(len(refused) <= paths.REFUSALS + 1, "too many refusals")
    _require(
        all(len(line) <= _MAX_LINE_CHARACTERS and line.isprintable() for line in refused),
        "an invalid refusal",
    )
    streams = [_parse_stream(fields[name][0], limits) for name in ("stdout", "stderr")]
    seconds = _parse_seconds(fields["seconds"][0])
    _require(seconds <= _CLOCK_TOLERANCE * elapsed, "a time longer than the run")
    end, code, number = _parse_end(fields, limits)
    return AnswerHeader(
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
    """Check the deleted paths. The files of trees are not known here, so any valid path may be a
    deleted one if the command has trees."""
    deleted_paths = set(deleted)
    written = _written_paths(command)
    if not command.trees:
        _require(deleted_paths <= written, "a deleted file that did not exist")
    removed = command.removed - written
    _require(len(deleted_paths) == len(deleted) <= MAX_REMOVED, "too many deleted files")
    _require(
        deleted_paths.isdisjoint(changed) and deleted_paths.isdisjoint(removed),
        "a deleted file twice",
    )
    _require(all(paths.fault(path) is None for path in deleted_paths), "not a workspace path")


def _written_paths(command: Command) -> set[str]:
    return command.files.keys() | command.links.keys()


def _decode_target(data: bytes) -> str:
    try:
        target = data.decode()
    except UnicodeDecodeError:
        raise ForgedAnswer("a link's target that is not UTF-8") from None
    if paths.target_fault(target) is not None:
        raise ForgedAnswer("a link's target that no agent sends")
    return target


def _parse_end(
    fields: Mapping[str, list[str]], limits: Limits
) -> tuple[End, int | None, int | None]:
    """How the run ended, its exit code, and its signal. The first exceeded limit counts."""
    code = os.waitstatus_to_exitcode(_parse_count(fields["status"][0], 0xFFFF))
    cpu_seconds = _parse_seconds(fields["cpu_seconds"][0])
    if fields["end"][0] != "-":
        end = End(fields["end"][0])
        _require(end in _LIMIT_ENDS, "an end that is not a limit")
        return end, None, None
    if code >= 0:
        return End.EXITED, code, None
    if -code == signal.SIGXFSZ:
        return End.DISK, None, None
    if -code == signal.SIGXCPU or (-code == signal.SIGKILL and cpu_seconds >= limits.cpu_seconds):
        return End.CPU, None, None
    return End.SIGNALED, None, -code


def _parse_files(values: list[str], limits: Limits) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """Names and sizes of the changed files."""
    _require(len(values) <= limits.workspace_files, "too many files")
    pairs = [value.partition(" ") for value in values]
    names = tuple(name for _, _, name in pairs)
    sizes = tuple(_parse_count(size, limits.file_bytes) for size, _, _ in pairs)
    _require(len(set(names)) == len(names), "a file twice")
    _require(sum(sizes) <= limits.workspace_bytes, "too many bytes")
    return names, sizes


def _parse_stream(value: str, limits: Limits) -> tuple[int, int, int]:
    """The sizes of a stream's head, tail and dropped bytes."""
    head, tail, dropped = (_parse_count(word, _MAX_COUNT) for word in value.split(" "))
    _require(head + tail <= limits.output_bytes, "too much output")
    return head, tail, dropped


def _parse_count(word: str, maximum: int) -> int:
    _require(len(word) < 20 and word.isascii() and word.isdecimal(), "not a number")
    _require(int(word) <= maximum, "a number out of range")
    return int(word)


def _parse_seconds(word: str) -> float:
    seconds, _, microseconds = word.partition(".")
    return _parse_count(seconds, _MAX_COUNT) + _parse_count(microseconds, 999_999) / 1e6


def _require(condition: bool, fault: str) -> None:
    if not condition:
        raise ValueError(fault)

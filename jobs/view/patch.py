"""The patch of a job: which patch a job shows, and the files and lines in it. Pure.

Models write patches, so a patch is untrusted. Parts that cannot be read become plain lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from itertools import count
from typing import Any

from jobs.model.record import JobRecord, PatchRef
from jobs.model.review import Review

MAX_BYTES = 4 * 1024 * 1024
"""A longer patch is not shown, but can be downloaded."""
MAX_LINES = 20_000
"""The lines of hunks that are shown. Later files are shown by their names only."""
MAX_FILES = 5_000
"""A patch of more files is not shown, but can be downloaded."""
HUNK_HEADER = "place"
"""The kind of a row that is the header of a hunk."""
_PART = re.compile(r"^(?=diff --git )", re.MULTILINE)
HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_ESCAPED = re.compile(rb'\\([0-7]{3}|[abfnrtv"\\])')
_ESCAPES = dict(zip(b"abfnrtv", b"\a\b\f\n\r\t\v", strict=True))
_NON_FILES = ("symbolic link", "submodule")
_SPECIAL = {"100755": "executable", **dict(zip(("120000", "160000"), _NON_FILES, strict=True))}
_KINDS = {"+": "added", "-": "removed", " ": "same"}


def current_patch(record: JobRecord) -> PatchRef | None:
    """The patch of the open review, or of the result."""
    if record.review is not None:
        return patch_of_review(record.review)
    return record.result.patch if record.result else None


def patch_of_review(review: Review) -> PatchRef | None:
    """The patch in the payload of a review."""
    return read_patch_ref(review.payload.get("patch"))


def read_patch_ref(data: Mapping[str, Any] | None) -> PatchRef | None:
    """The reference in a review's payload, or in the event that opened the review."""
    names = (field.name for field in fields(PatchRef))
    return PatchRef(**{name: data[name] for name in names if name in data}) if data else None


def current_bundle(record: JobRecord) -> str | None:
    """The digest of the bundle of the open review, or of the result."""
    if record.review is not None:
        return record.review.payload.get("bundle")
    return record.result.bundle if record.result else None


def explain_missing(record: JobRecord, part: str) -> str:
    """Why a job has no patch or bundle (`part`)."""
    if record.spec.repo is None:
        return f"the job is not on a repository: it has no {part}"
    if record.review is not None:
        return f"the open review shows no {part}"
    if not record.status.final:
        return f"the job is {record.status}: its {part} comes with its review, or its end"
    return f"the job is {record.status}, and has no {part}"


@dataclass(frozen=True, slots=True)
class PatchFile:
    """A changed file."""

    path: str
    notes: tuple[str, ...]
    """Changes of other kinds than lines, such as `renamed from a.py`."""
    insertions: int
    deletions: int
    lines: int
    """The number of lines of its difference."""
    longest: int
    """The length of the longest added line."""
    rows: tuple[Row, ...]
    """The lines of its difference. Empty if the file was not read."""
    unread: str = ""
    """Why its lines were not read. Empty: they were read."""


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a difference."""

    kind: str
    """`added`, `removed`, `same`, or `place` (the header of a hunk)."""
    old: int | None
    """Its number before the change."""
    new: int | None
    """Its number after the change."""
    text: str


def parse_patch(content: bytes) -> list[PatchFile]:
    """The files of a patch, in its order. Files after the first `MAX_LINES` lines have no rows."""
    lines_left = MAX_LINES
    files: list[PatchFile] = []
    for part in _parts(content):
        file = _parse_file(part, lines_left)
        lines_left -= file.lines
        if files and files[-1].path == file.path:
            file = _merge_files(files.pop(), file)
        files.append(file)
    return files


def find_part(content: bytes, path: str) -> str | None:
    """The text of the first file of a patch that has this path after the change."""
    return next((part for part in _parts(content) if _path(_head_and_body(part)[0]) == path), None)


def _parts(content: bytes) -> Iterator[str]:
    """The texts of the files of a patch."""
    parts = _PART.split(content.decode(errors="backslashreplace"))
    return (part for part in parts if part.startswith("diff --git "))


def _head_and_body(part: str) -> tuple[list[str], list[str]]:
    """The lines before the hunks of a file, and the lines of its hunks: all lines after the first
    header of a hunk."""
    lines = part.rstrip("\n").split("\n")
    hunks_start = next(
        (number for number, line in enumerate(lines) if HUNK.match(line)), len(lines)
    )
    return lines[:hunks_start], lines[hunks_start:]


def _merge_files(before: PatchFile, after: PatchFile) -> PatchFile:
    """A file that becomes a link, or the reverse: git shows it as a removed and an added file."""
    return PatchFile(
        path=after.path,
        notes=(*before.notes, *after.notes),
        insertions=before.insertions + after.insertions,
        deletions=before.deletions + after.deletions,
        lines=before.lines + after.lines,
        longest=max(before.longest, after.longest),
        rows=(*before.rows, *after.rows),
        unread=before.unread or after.unread,
    )


def _parse_file(part: str, max_rows: int) -> PatchFile:
    """The file, with its rows if there are at most `max_rows`."""
    head, body = _head_and_body(part)
    added = [len(line) for line in body if line.startswith("+")]
    file = PatchFile(
        path=_path(head),
        notes=tuple(_notes(head)),
        insertions=len(added),
        deletions=sum(line.startswith("-") for line in body),
        lines=len(body),
        longest=max(added, default=0),
        rows=tuple(_rows(body)) if len(body) <= max_rows else (),
    )
    return file if len(body) <= max_rows else without_rows(file)


def without_rows(file: PatchFile) -> PatchFile:
    """The file without its lines, of which the patch has too many."""
    return replace(file, rows=(), unread="the patch has too many lines")


def _rows(lines: list[str]) -> Iterator[Row]:
    """The rows of the hunks. The header of a hunk has its number of lines, so a line of a hunk that
    looks like a header is still a line."""
    before = after = count(1)
    remaining = [0, 0]
    for line in lines:
        if remaining == [0, 0]:
            if (hunk := HUNK.match(line)) is None:
                if line.startswith("\\"):
                    yield Row(HUNK_HEADER, None, None, line)
                continue
            old, olds, new, news = hunk.groups()
            before, after = count(int(old)), count(int(new))
            remaining = [int(olds or 1), int(news or 1)]
            yield Row(HUNK_HEADER, None, None, line)
        elif line.startswith("\\"):
            yield Row(HUNK_HEADER, None, None, line)
        else:
            kind = _KINDS.get(line[:1], "same")
            remaining = [
                max(remaining[0] - (kind != "added"), 0),
                max(remaining[1] - (kind != "removed"), 0),
            ]
            yield Row(
                kind,
                None if kind == "added" else next(before),
                None if kind == "removed" else next(after),
                line,
            )


def _path(head: list[str]) -> str:
    """The name of the file after the change; of a removed file, the name before."""
    paths = dict(line.split(" ", 1) for line in head if line.startswith(("--- ", "+++ ")))
    for name in (paths.get("+++", "/dev/null"), paths.get("---", "/dev/null")):
        if name.rstrip("\t") != "/dev/null":
            return _unquoted(name.rstrip("\t"))[2:]
    renamed = [line for line in head if line.startswith(("rename to ", "copy to "))]
    if renamed:
        return _unquoted(renamed[0].partition(" to ")[2])
    return _path_of_header(head[0])


def _path_of_header(line: str) -> str:
    """The name in `diff --git a/NAME b/NAME`, in which both names are the same. They may be
    quoted."""
    names = line.removeprefix("diff --git ")
    return _unquoted(names[(len(names) + 1) // 2 :])[2:]


def _notes(head: list[str]) -> Iterator[str]:
    """The changes of the file of other kinds than lines."""
    for line in head:
        kind = _SPECIAL.get(line.rpartition(" ")[2], "")
        if line.startswith("new file mode"):
            yield f"new {kind}".rstrip()
        elif line.startswith("deleted file mode"):
            yield f"deleted {kind}".rstrip()
        elif line.startswith("index ") and kind in _NON_FILES:
            yield kind
        elif line.startswith(("rename from ", "copy from ")):
            verb, _, name = line.partition(" from ")
            yield f"{'renamed' if verb == 'rename' else 'copied'} from {_unquoted(name)}"
        elif line.startswith("new mode "):
            yield "executable" if line.endswith("755") else "not executable"
        elif line.startswith(("GIT binary patch", "Binary files ")):
            yield "binary"


def _unquoted(name: str) -> str:
    """A name from git's form: in quotes with escapes, if it has unusual characters."""
    if not (name.startswith('"') and name.endswith('"') and len(name) > 1):
        return name
    return _ESCAPED.sub(_unescape, name[1:-1].encode()).decode(errors="backslashreplace")


def _unescape(match: re.Match[bytes]) -> bytes:
    escape = match[1]
    if len(escape) == 1:
        return bytes([_ESCAPES.get(escape[0], escape[0])])
    return bytes([int(escape, 8) & 0xFF])

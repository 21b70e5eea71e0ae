"""The patch of a job on a repository: which patch a job shows, and the files and lines in it. Pure.

Models write patches, so a patch is untrusted: parts that cannot be read are left as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, fields
from itertools import count

from jobs.model.record import JobRecord, PatchRef
from jobs.model.review import Review

MOST_BYTES = 4 * 1024 * 1024
"""A longer patch is not read for people: it can be downloaded."""
MOST_LINES = 20_000
"""Lines of hunks that are read; of the files after them only the names."""
_PART = re.compile(r"^(?=diff --git )", re.MULTILINE)
_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_ESCAPED = re.compile(rb'\\([0-7]{3}|[abfnrtv"\\])')
_SIGNS = dict(zip(b"abfnrtv", b"\a\b\f\n\r\t\v", strict=True))
_NO_FILES = ("symbolic link", "submodule")
_SPECIAL = {"100755": "executable", **dict(zip(("120000", "160000"), _NO_FILES, strict=True))}
_KINDS = {"+": "added", "-": "removed", " ": "same"}


def newest(record: JobRecord) -> PatchRef | None:
    """The patch of the open review, else of the result."""
    if record.review is not None:
        return of_review(record.review)
    return record.result.patch if record.result else None


def of_review(review: Review) -> PatchRef | None:
    """The patch that a review shows."""
    shown = review.payload.get("patch")
    return PatchRef(**{each.name: shown[each.name] for each in fields(PatchRef)}) if shown else None


def newest_bundle(record: JobRecord) -> str | None:
    """The digest of the bundle of the open review, else of the result."""
    if record.review is not None:
        return record.review.payload.get("bundle")
    return record.result.bundle if record.result else None


def why_none(record: JobRecord, what: str) -> str:
    """Why there is no `what` (patch or bundle) of a job."""
    if record.spec.repo is None:
        return f"the job is not on a repository: it has no {what}"
    if record.review is not None:
        return f"the open review shows no {what}"
    if not record.status.final:
        return f"the job is {record.status}: its {what} comes with its review, or its end"
    return f"the job is {record.status}, and has no {what}"


@dataclass(frozen=True, slots=True)
class PatchFile:
    """A changed file. `notes` say what happened to it beside its lines; its difference has so many
    `lines`, and `rows` are they, where they are shown; the longest added line has `longest`
    characters."""

    path: str
    notes: tuple[str, ...]
    insertions: int
    deletions: int
    lines: int
    longest: int
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a difference: its kind, and its numbers before and after."""

    kind: str
    old: int | None
    new: int | None
    text: str


def read(content: bytes) -> list[PatchFile]:
    """The files of a patch, in its order; those after `MOST_LINES` lines without their rows."""
    text, lines_left = content.decode(errors="backslashreplace"), MOST_LINES
    files: list[PatchFile] = []
    for part in _PART.split(text):
        if part.startswith("diff --git "):
            file = _file(part, lines_left)
            lines_left -= file.lines
            if files and files[-1].path == file.path:
                file = _joined(files.pop(), file)
            files.append(file)
    return files


def _joined(before: PatchFile, after: PatchFile) -> PatchFile:
    """A file that becomes a link, or the reverse, which git shows as one that goes and one that
    comes."""
    return PatchFile(
        path=after.path,
        notes=(*before.notes, *after.notes),
        insertions=before.insertions + after.insertions,
        deletions=before.deletions + after.deletions,
        lines=before.lines + after.lines,
        longest=max(before.longest, after.longest),
        rows=(*before.rows, *after.rows),
    )


def _file(part: str, most: int) -> PatchFile:
    """The file, with its rows where they are `most`. All after the first hunk are lines of hunks:
    a header has come before it."""
    lines = part.rstrip("\n").split("\n")
    begins = next((place for place, line in enumerate(lines) if _HUNK.match(line)), len(lines))
    head, body = lines[:begins], lines[begins:]
    added = [len(line) for line in body if line.startswith("+")]
    return PatchFile(
        path=_path(head),
        notes=tuple(_notes(head)),
        insertions=len(added),
        deletions=sum(line.startswith("-") for line in body),
        lines=len(body),
        longest=max(added, default=0),
        rows=tuple(_rows(body)) if len(body) <= most else (),
    )


def _rows(lines: list[str]) -> Iterator[Row]:
    """The rows of the hunks. A hunk says how many lines it has: what looks like a header in it is
    a line."""
    before = after = count(1)
    left = [0, 0]
    for line in lines:
        if left == [0, 0]:
            if (hunk := _HUNK.match(line)) is None:
                if line.startswith("\\"):
                    yield Row("place", None, None, line)
                continue
            old, olds, new, news = hunk.groups()
            before, after = count(int(old)), count(int(new))
            left = [int(olds or 1), int(news or 1)]
            yield Row("place", None, None, line)
        elif line.startswith("\\"):
            yield Row("place", None, None, line)
        else:
            kind = _KINDS.get(line[:1], "same")
            left = [max(left[0] - (kind != "added"), 0), max(left[1] - (kind != "removed"), 0)]
            yield Row(
                kind,
                None if kind == "added" else next(before),
                None if kind == "removed" else next(after),
                line,
            )


def _path(head: list[str]) -> str:
    """The file's name after the change, or the one that it had."""
    named = dict(line.split(" ", 1) for line in head if line.startswith(("--- ", "+++ ")))
    for name in (named.get("+++", "/dev/null"), named.get("---", "/dev/null")):
        if name.rstrip("\t") != "/dev/null":
            return _unquoted(name.rstrip("\t"))[2:]
    renamed = [line for line in head if line.startswith(("rename to ", "copy to "))]
    if renamed:
        return _unquoted(renamed[0].partition(" to ")[2])
    return _of_both(head[0])


def _of_both(line: str) -> str:
    """The one name of `diff --git a/NAME b/NAME`, which is twice as long in quotes, too."""
    names = line.removeprefix("diff --git ")
    return _unquoted(names[(len(names) + 1) // 2 :])[2:]


def _notes(head: list[str]) -> Iterator[str]:
    """What happened to the file beside its lines."""
    for line in head:
        kind = _SPECIAL.get(line.rpartition(" ")[2], "")
        if line.startswith("new file mode"):
            yield f"new {kind}".rstrip()
        elif line.startswith("deleted file mode"):
            yield f"deleted {kind}".rstrip()
        elif line.startswith("index ") and kind in _NO_FILES:
            yield kind
        elif line.startswith(("rename from ", "copy from ")):
            how, _, name = line.partition(" from ")
            yield f"{'renamed' if how == 'rename' else 'copied'} from {_unquoted(name)}"
        elif line.startswith("new mode "):
            yield "executable" if line.endswith("755") else "not executable"
        elif line.startswith(("GIT binary patch", "Binary files ")):
            yield "binary"


def _unquoted(name: str) -> str:
    """A name as git quotes it: in quotes with escapes where it has unusual characters."""
    if not (name.startswith('"') and name.endswith('"') and len(name) > 1):
        return name
    return _ESCAPED.sub(_sign, name[1:-1].encode()).decode(errors="backslashreplace")


def _sign(found: re.Match[bytes]) -> bytes:
    sign = found[1]
    if len(sign) == 1:
        return bytes([_SIGNS.get(sign[0], sign[0])])
    return bytes([int(sign, 8) & 0xFF])

"""Applying a unified diff: each hunk exactly, all of them or none. Pure.

No fuzz: a hunk's context and removed lines must be in the file as they are in the diff, at the
place it names or else at exactly one other. Fuzz, an end of file taken for a line, line ends that
change on the way: those are how a patch routine corrupts files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from agents.edits.endings import as_crlf, has_only_crlf
from agents.edits.unified import FileDiff, Hunk
from agents.errors import ToolRefused
from agents.lines import lines_of

PLACES_SHOWN = 8
MOST_COMPARED = 5_000_000
"""Lines of hunks times lines of their files: what a whole diff may have compared beyond the places
that it names."""


@dataclass(frozen=True, slots=True)
class Patched:
    """What a diff makes of its files: new texts, files that go, and in words what was done."""

    changed: Mapping[str, str]
    deleted: frozenset[str]
    done: tuple[str, ...]


def patched(texts: Mapping[str, str | None], diffs: Sequence[FileDiff]) -> Patched:
    """Apply the diffs to `texts`, by path; None stands for a file that is not there.

    Raises ToolRefused where one hunk does not fit: then nothing of the diff counts.
    """
    changed: dict[str, str] = {}
    deleted: set[str] = set()
    done = []
    looks = sum(_compared(texts[diff.path] or "", diff) for diff in diffs) <= MOST_COMPARED
    for diff in diffs:
        before = texts[diff.path]
        _require(diff, before)
        after = _applied(diff, before or "", looks=looks)
        if diff.deleted:
            if after:
                raise ToolRefused(f"the diff deletes {diff.path!r}, but not all of its lines")
            deleted.add(diff.path)
        elif after == before:
            raise ToolRefused(f"the diff changes nothing in {diff.path!r}")
        else:
            changed[diff.path] = after
        done.append(_told(diff))
    return Patched(changed, frozenset(deleted), tuple(done))


def _require(diff: FileDiff, before: str | None) -> None:
    if diff.made and before is not None:
        raise ToolRefused(f"the diff makes {diff.path!r} anew (--- /dev/null), but it is there")
    if not diff.made and before is None:
        raise ToolRefused(f"there is no file {diff.path!r}; a diff makes one from --- /dev/null")


def _compared(text: str, diff: FileDiff) -> int:
    """What looking for all hunks everywhere would compare."""
    return (text.count("\n") + 1) * sum(len(hunk.old) for hunk in diff.hunks)


def _applied(diff: FileDiff, text: str, *, looks: bool) -> str:
    lines, crlf = lines_of(text), has_only_crlf(text)
    after: list[str] = []
    floor = 0
    for hunk in diff.hunks:
        old, new = (
            [as_crlf(line) for line in part] if crlf else part for part in (hunk.old, hunk.new)
        )
        place = _place(diff.path, hunk, old, lines, floor, looks=looks)
        after += [*lines[floor:place], *new]
        floor = place + len(old)
    after += lines[floor:]
    for number, line in enumerate(after[:-1], 1):
        if not line.endswith("\n"):
            raise ToolRefused(
                f"{diff.path!r} would run lines {number} and {number + 1} together: the old last "
                "line has no newline; remove it (-, then '\\ No newline at end of file') and add "
                "it again (+)"
            )
    return "".join(after)


def _place(
    path: str, hunk: Hunk, old: list[str], lines: list[str], floor: int, *, looks: bool
) -> int:
    """The index of the line where the hunk's old lines begin; not before `floor`.

    Unless it `looks`, which could hold up other jobs, only the place counts that the diff names.
    """
    if not old:
        if lines:
            raise ToolRefused(
                f"hunk {hunk.number} of {path!r} adds lines without any context: give at least "
                "one line that is there, before or behind them"
            )
        return 0
    told = None if hunk.start is None else hunk.start - 1
    if told is not None and told >= floor and lines[told : told + len(old)] == old:
        return told
    if not looks:
        raise ToolRefused(
            f"hunk {hunk.number} of {path!r} does not fit, nothing was changed: it is not at the "
            "line it names, and this is too much to look for elsewhere; read_file shows the file"
        )
    places = list(islice(_places(old, lines, floor), PLACES_SHOWN))
    if len(places) == 1:
        return places[0]
    if places:
        shown = ", ".join(str(place + 1) for place in places)
        raise ToolRefused(
            f"hunk {hunk.number} of {path!r} fits at several places (lines {shown}): give more "
            "context"
        )
    raise ToolRefused(_misfit(path, hunk, old, lines, floor))


def _places(old: list[str], lines: list[str], floor: int) -> Iterator[int]:
    """Where the lines are, all of them."""
    for place in range(floor, len(lines) - len(old) + 1):
        if lines[place] == old[0] and lines[place : place + len(old)] == old:
            yield place


def _misfit(path: str, hunk: Hunk, old: list[str], lines: list[str], floor: int) -> str:
    """Why a hunk fits nowhere: the first difference where it fits best."""
    begins = f"hunk {hunk.number} of {path!r} does not fit, nothing was changed: "
    place = _best(old, lines, 0 if hunk.start is None else max(0, hunk.start - 1))
    for index, line in enumerate(old):
        there = lines[place + index] if place + index < len(lines) else None
        if there is None:
            return f"{begins}the file ends before line {place + index + 1}, {line!r}"
        if there.rstrip("\r\n") == line.rstrip("\r\n") and there != line:
            return f"{begins}line {place + index + 1} ends with {_end(there)}, not {_end(line)}"
        if there != line:
            is_there = f"line {place + index + 1} is {there.rstrip()[:120]!r}"
            return f"{begins}{is_there}, the diff has {line.rstrip()[:120]!r}"
    return f"{begins}its lines come before those of the hunk before it (line {floor})"


def _best(old: list[str], lines: list[str], told: int) -> int:
    """Where the first of the old lines is that is anywhere, nearest to the place that was told."""
    for index, line in enumerate(old):
        found = [place - index for place, each in enumerate(lines) if each == line]
        if line.strip() and found:
            return max(0, min(found, key=lambda place: abs(place - told)))
    return told


def _end(line: str) -> str:
    bare = line.rstrip("\r\n")
    return {"": "nothing ('\\ No newline at end of file')"}.get(
        line[len(bare) :], repr(line[len(bare) :])
    )


def _told(diff: FileDiff) -> str:
    signs = [sign for hunk in diff.hunks for sign, _ in hunk.lines]
    counts = f"+{signs.count('+')} -{signs.count('-')}"
    what = "made, " if diff.made else "deleted, " if diff.deleted else ""
    return f"{diff.path} ({what}{counts})"

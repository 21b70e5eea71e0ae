"""Reading a unified diff. Pure, and strict: what is not understood is refused, never passed over.

Positions may be wrong or left out (`@@` alone), since models count badly and a hunk is found by
its lines; the numbers of lines, where they are given, must be right: they alone tell where a hunk
ends, and a removed line that begins with `--` from the next file's header.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from agents.errors import ToolRefused
from agents.paths import checked, in_workspace

NOTHING = "/dev/null"
_NUMBER = r"(\d{1,9})"
_HUNK = re.compile(rf"^@@ -{_NUMBER}(?:,{_NUMBER})? \+{_NUMBER}(?:,{_NUMBER})? @@")
_BARE = re.compile(r"^@@(?! -)")
_SAYS_NOTHING = (
    *("diff ", "index ", "Index: ", "=====", "new file mode ", "deleted file mode "),
    *("old mode ", "new mode "),
)
_CANNOT = ("rename ", "copy ", "similarity ", "dissimilarity ", "Binary files ", "GIT binary ")


@dataclass(frozen=True, slots=True)
class Hunk:
    """One place of a change: `lines` as (sign, text with its end), signs ` `, `-` and `+`.

    `start` is the first of the old lines in the file as the diff has it, from 1; None: not told.
    """

    number: int
    start: int | None
    lines: tuple[tuple[str, str], ...]

    @property
    def old(self) -> list[str]:
        """The lines that must be there."""
        return [text for sign, text in self.lines if sign != "+"]

    @property
    def new(self) -> list[str]:
        """The lines that are there afterwards."""
        return [text for sign, text in self.lines if sign != "-"]


@dataclass(frozen=True, slots=True)
class FileDiff:
    """What is to be done with one file: changed, `made` anew, or `deleted`."""

    path: str
    hunks: tuple[Hunk, ...]
    made: bool = False
    deleted: bool = False


def read(diff: str, path: str | None = None) -> list[FileDiff]:
    """The files of a diff. `path` is the file that a diff without headers is about.

    Raises ToolRefused, with the line of the diff, for what is no unified diff.
    """
    files = _Reader(diff, path).files()
    if not files:
        raise ToolRefused("the diff has no hunk: a line that begins with @@ opens one")
    names = [each.path for each in files]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ToolRefused(f"the diff has {min(twice)!r} twice: put its hunks together")
    return files


@dataclass(slots=True)
class _Reader:
    diff: str
    path: str | None
    at: int = 0
    lines: Sequence[str] = field(default_factory=list)

    def files(self) -> list[FileDiff]:
        self.lines = self.diff.removesuffix("\n").split("\n")
        found: list[FileDiff] = []
        git = None  # a file that git tells of and that has no hunks: a mode, or an empty file
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if line.startswith("--- "):
                found.append(self._file())
                git = None
            elif line.startswith("@@") and self.path is not None and not found:
                found.append(FileDiff(checked(in_workspace(self.path)), self._hunks()))
            elif line.startswith("diff --git ") and git is not None:
                break
            elif line.startswith(_SAYS_NOTHING) or not line.strip():
                git = self.at if line.startswith("diff --git ") else git
                self.at += 1
            elif line.startswith(_CANNOT):
                raise self._refused("renaming, copying and binary files are not done by a diff")
            else:
                raise self._refused("this is neither a header (---, +++) nor a hunk (@@)")
        if git is not None:
            self.at = git
            raise self._refused("no hunks follow; write_file makes an empty file")
        return found

    def _file(self) -> FileDiff:
        old = _named(self.lines[self.at])
        self.at += 1
        if self.at == len(self.lines) or not self.lines[self.at].startswith("+++ "):
            raise self._refused("a line that begins with +++ must follow the one with ---")
        new = _named(self.lines[self.at])
        self.at += 1
        path = _path(old, new)
        hunks = self._hunks()
        if not hunks:
            raise self._refused(f"no hunk (@@) follows the header of {path!r}")
        return FileDiff(path, hunks, made=old == NOTHING, deleted=new == NOTHING)

    def _hunks(self) -> tuple[Hunk, ...]:
        hunks: list[Hunk] = []
        while self.at < len(self.lines) and self.lines[self.at].startswith("@@"):
            hunks.append(self._hunk(len(hunks) + 1))
        return tuple(hunks)

    def _hunk(self, number: int) -> Hunk:
        header = self.lines[self.at]
        numbers = _HUNK.match(header)
        if numbers is None and not _BARE.match(header):
            raise self._refused("a hunk begins with @@ -START,COUNT +START,COUNT @@, or with @@")
        self.at += 1
        if numbers is None:
            return Hunk(number, None, self._until_next())
        start, old, _, new = (1 if each is None else int(each) for each in numbers.groups())
        return Hunk(number, start, self._counted(number, old, new))

    def _counted(self, number: int, old: int, new: int) -> tuple[tuple[str, str], ...]:
        first, told = self.at, (old, new)
        lines: list[tuple[str, str]] = []
        while old > 0 or new > 0:
            if self.at == len(self.lines) or self._ends():
                raise self._miscounted(number, first, told)
            sign, text = self._line(lines)
            old, new = old - (sign in " -"), new - (sign in " +")
            if sign != "\\":
                lines.append((sign, text))
        if self.at < len(self.lines) and self.lines[self.at].startswith("\\"):
            self._line(lines)
        after = self.lines[self.at] if self.at < len(self.lines) else ""
        if old < 0 or new < 0 or (after[:1] in {" ", "+", "-"} and after and not self._ends()):
            raise self._miscounted(number, first, told)
        return tuple(lines)

    def _until_next(self) -> tuple[tuple[str, str], ...]:
        lines: list[tuple[str, str]] = []
        while self.at < len(self.lines) and not self._ends():
            if not any(self.lines[self.at :]):  # what follows the diff's last line
                self.at = len(self.lines)
                break
            sign, text = self._line(lines)
            if sign != "\\":
                lines.append((sign, text))
        return tuple(lines)

    def _line(self, before: list[tuple[str, str]]) -> tuple[str, str]:
        line = self.lines[self.at]
        sign = line[:1] or " "  # a blank line of context that has lost its sign on the way
        if line.strip("\r") == "":
            sign = " "
        if sign == "\\":
            if not before:
                raise self._refused("'\\ No newline at end of file' stands behind a line")
            before[-1] = before[-1][0], before[-1][1].removesuffix("\n")
        elif sign not in {" ", "+", "-"}:
            raise self._refused("a line of a hunk begins with ' ', '+' or '-'")
        self.at += 1
        return sign, (line[1:] if line[:1] == sign else line) + "\n"

    def _ends(self) -> bool:
        """Whether something else begins here."""
        line, rest = self.lines[self.at], self.lines[self.at + 1 : self.at + 2]
        header = line.startswith("--- ") and bool(rest) and rest[0].startswith("+++ ")
        return header or line.startswith(("@@", "diff --git "))

    def _miscounted(self, number: int, first: int, told: tuple[int, int]) -> ToolRefused:
        self.at = first
        body = self._until_next()
        old = sum(sign in " -" for sign, _ in body)
        new = sum(sign in " +" for sign, _ in body)
        self.at = first - 1
        return self._refused(
            f"hunk {number} says {told[0]} old and {told[1]} new lines, but has {old} and {new}; "
            "correct the numbers, or write @@ alone"
        )

    def _refused(self, why: str) -> ToolRefused:
        line = self.lines[self.at] if self.at < len(self.lines) else "(its end)"
        return ToolRefused(f"line {self.at + 1} of the diff, {line[:80]!r}: {why}")


def _named(header: str) -> str:
    return header[4:].partition("\t")[0].strip()


def _path(old: str, new: str) -> str:
    """The file that the two names of a header mean."""
    if old.startswith('"') or new.startswith('"'):
        raise ToolRefused("write the names of the diff's files without quotes")
    if old == new == NOTHING:
        raise ToolRefused("the diff's header names no file")
    prefixed = old.startswith(("a/", NOTHING)) and new.startswith(("b/", NOTHING))
    names = {name[2:] if prefixed else name for name in (old, new) if name != NOTHING}
    if len(names) > 1:
        raise ToolRefused(f"the diff renames {old!r} to {new!r}, which is not done by a diff")
    return checked(in_workspace(names.pop()))

"""The job's change, as the critic reads it: patches of code and of tests, and data. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Final

from agents.evidence.changes import ChangedFile
from agents.failures.workspace_change import CONTEXT_LINES, change
from agents.paths import visible
from agents.runs.sources import is_source, is_test
from agents.texts import as_text, lines_of, numbered

_HUNK = re.compile(r"@@ -\S+ \+(\d+)")
FULL_CONTEXT = 12_000
"""Bytes of edited files, the smallest first. The patches of these files have all lines."""

CHANGED: Final = "changed"
"""The state of a file that a patch shows."""


@dataclass(frozen=True, slots=True)
class FileText:
    """A text about a file. `state` is one phrase: `new`, `changed`, `deleted`."""

    path: str
    state: str
    text: str
    """The file with the numbers of its lines, or a patch with the numbers of the new lines."""
    content: str
    """The file as it is now; of a deleted file as it was."""

    @property
    def heading(self) -> str:
        """The line above the text."""
        return f"{visible(self.path)}, {self.state}{'' if self.text else ', empty'}"

    @classmethod
    def complete(cls, path: str, state: str, content: str) -> FileText:
        """All lines of the file."""
        return cls(path, state, numbered(content), content)


@dataclass(frozen=True, slots=True)
class Change:
    """The change, by kind of file."""

    code: Sequence[FileText] = ()
    """Source files and other texts that the model wrote: patches, and new files in full."""
    tests: Sequence[FileText] = ()
    data: Sequence[ChangedFile] = field(default=())
    """Files that are no text, and data that programs wrote and that no patch shows."""


def change_of(files: Sequence[ChangedFile], by_programs: Collection[str]) -> Change:
    """The change in `files`. `by_programs` are the paths of files that runs have left."""
    code, tests, data = list[FileText](), list[FileText](), list[ChangedFile]()
    small = _small(files)
    for each in files:
        text = as_text(_content(each))
        source = is_source(each.path, _content(each))
        if text is None:
            data.append(each)
            continue
        context = len(lines_of(text)) if each.path in small else CONTEXT_LINES
        shown = _file_text(each, text, context)
        if not source and each.path in by_programs and shown.state != CHANGED:
            data.append(each)
            continue
        (tests if source and is_test(each.path) else code).append(shown)
    return Change(code, tests, data)


def _small(files: Sequence[ChangedFile]) -> frozenset[str]:
    """The paths of the files that have FULL_CONTEXT bytes together, the smallest first."""
    order = sorted(files, key=lambda file: (len(_content(file)), file.path))
    edited = [file for file in order if file.before is not None and file.after is not None]
    totals = accumulate(len(_content(file)) for file in edited)
    return frozenset(
        file.path for file, total in zip(edited, totals, strict=True) if total <= FULL_CONTEXT
    )


def _content(file: ChangedFile) -> bytes:
    return file.after if file.after is not None else file.before or b""


def _file_text(file: ChangedFile, text: str, context: int) -> FileText:
    """A new file in full; otherwise a patch with `context` lines around each change. Without a
    patch, the file as it is now."""
    if file.before is None:
        return FileText.complete(file.path, "new", text)
    state = "deleted" if file.after is None else CHANGED
    patch = change(_of(file.path, file.before), _of(file.path, file.after), max(1, context)).diff
    if "\n" in patch:
        return FileText(file.path, state, _numbered_patch(patch), text)
    return FileText.complete(file.path, f"{state}; too many lines differ for a patch", text)


def _numbered_patch(patch: str) -> str:
    """A unified diff of one file. Each line of the new file has its number, as in `numbered`."""
    header, other_header, *lines = patch.removesuffix("\n ").split("\n")  # after the last line
    numbered_lines, number = [header, other_header], 0
    for line in lines:
        if hunk := _HUNK.match(line):
            number = int(hunk[1])
            numbered_lines.append(line)
        elif line.startswith("-"):
            numbered_lines.append(f"\t{line}")
        else:
            numbered_lines.append(f"{number}\t{line}")
            number += 1
    return "\n".join(numbered_lines)


def _of(path: str, content: bytes | None) -> Mapping[str, bytes | None]:
    return {visible(path): content}

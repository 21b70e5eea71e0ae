"""The job's change, as the critic reads it: patches of code and of tests, and data. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from agents.evidence.changes import ChangedFile
from agents.evidence.sources import is_source, is_test
from agents.failures.workspace_change import change
from agents.paths import visible

SHOWN_IN_FULL = 12_000
"""Characters of an edited file that is shown as it is now, beside its patch."""


@dataclass(frozen=True, slots=True)
class FileText:
    """A text about a file. `state` is one phrase: `new`, `changed`, `deleted`."""

    path: str
    state: str
    text: str

    @property
    def heading(self) -> str:
        """The line above the text."""
        return f"{visible(self.path)}, {self.state}{'' if self.text else ', empty'}"


@dataclass(frozen=True, slots=True)
class Change:
    """The change, by kind of file."""

    code: Sequence[FileText] = ()
    """Source files and other texts that the model wrote: patches, and new files in full."""
    tests: Sequence[FileText] = ()
    edited: Sequence[FileText] = ()
    """The edited files among them, as they are now."""
    data: Sequence[ChangedFile] = field(default=())
    """Files that programs wrote, and files that are no text."""


def change_of(files: Sequence[ChangedFile], by_programs: Collection[str]) -> Change:
    """The change in `files`. `by_programs` are the paths of files that runs have left."""
    code, tests, edited = list[FileText](), list[FileText](), list[FileText]()
    data: list[ChangedFile] = []
    for each in files:
        text = text_of_file(each.after if each.after is not None else each.before or b"")
        source = is_source(each.path, each.after or each.before or b"")
        if text is None or (not source and each.path in by_programs):
            data.append(each)
            continue
        shown = _file_text(each, text)
        (tests if source and is_test(each.path) else code).append(shown)
        if each.before is not None and each.after is not None and len(text) <= SHOWN_IN_FULL:
            edited.append(FileText(each.path, "edited", text))
    return Change(code, tests, edited, data)


def text_of_file(content: bytes) -> str | None:
    """The file as a text, or None."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return None
    return None if "\0" in text[:4096] else text


def _file_text(file: ChangedFile, text: str) -> FileText:
    """A new file in full; otherwise a patch. Without a patch, the file as it is now."""
    if file.before is None:
        return FileText(file.path, "new", text)
    state = "deleted" if file.after is None else "changed"
    patch = change(_of(file.path, file.before), _of(file.path, file.after)).diff
    if "\n" in patch:
        return FileText(file.path, state, patch)
    return FileText(file.path, f"{state}; too many lines differ for a patch", text)


def _of(path: str, content: bytes | None) -> Mapping[str, bytes | None]:
    return {visible(path): content}

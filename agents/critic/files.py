"""The files that the critic reads: the job's change as patches and data, and unchanged files that
the work reads. Pure.

An unchanged file counts as read if its path, its unique name, or its module occurs in the task, the
answer, the code or a command. Data files have a head, a tail and a shape.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Final

from langchain_core.messages import AIMessage, BaseMessage

from agents.evidence.changes import ChangedFile
from agents.failures.workspace_change import CONTEXT_LINES, change
from agents.paths import visible
from agents.runs.sources import is_source, is_test
from agents.texts import as_text, head_and_tail, lines_of, listed, numbered
from sandbox.media import media_type, read_description

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
    """The current file; if it is deleted, the file before the job."""

    @property
    def heading(self) -> str:
        """The line above the text."""
        return f"{visible(self.path)}, {self.state}{'' if self.text else ', empty'}"

    @classmethod
    def complete(cls, path: str, state: str, content: str) -> FileText:
        """All lines of the file."""
        return cls(path, state, numbered(content), content)


@dataclass(frozen=True, slots=True)
class ChangeForCritic:
    """The change, by kind of file."""

    code: Sequence[FileText] = ()
    """Source files and other texts that the model wrote: patches, and new files in full."""
    tests: Sequence[FileText] = ()
    data: Sequence[ChangedFile] = field(default=())
    """Files that are no text, and data that programs wrote and that no patch shows."""


def change_of(files: Sequence[ChangedFile], by_programs: Collection[str]) -> ChangeForCritic:
    """The change in `files`. `by_programs` are the paths of files that runs have left."""
    code, tests, data = list[FileText](), list[FileText](), list[ChangedFile]()
    small = _small(files)
    for file in files:
        text = as_text(_content(file))
        source = is_source(file.path, _content(file))
        if text is None:
            data.append(file)
            continue
        context = len(lines_of(text)) if file.path in small else CONTEXT_LINES
        file_text = _file_text(file, text, context)
        if not source and file.path in by_programs and file_text.state != CHANGED:
            data.append(file)
            continue
        (tests if source and is_test(file.path) else code).append(file_text)
    return ChangeForCritic(code, tests, data)


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
    """A new file in full; otherwise a patch with `context` lines around each change. If no
    patch is possible, the current file."""
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


DATA_SHOWN = 3_000
"""Characters of a data file's head and tail together."""
INPUT_SHOWN = 12_000
"""Characters of an unchanged file with code or prose."""
MOST_PARSED = 1024 * 1024
"""The largest file, in bytes, of which the shape is determined."""
NAMES_SHOWN = 20
LONGEST_NAME = 40
_BOM = "\ufeff"
"""Programs for Windows begin a text with it."""


def shape_of(path: str, content: bytes) -> str:
    """A phrase that describes the file: its size, its rows and columns."""
    kind = media_type(path, content)
    size = f"{len(content):,} bytes"
    text = as_text(content)
    if kind == "image/png" and text is None:
        width, height = (int.from_bytes(content[at : at + 4]) for at in (16, 20))
        return f"{kind}, {width} x {height} pixels"
    if text is None:
        return f"{kind}, {size}"
    count = len(lines_of(text))
    lines = f"{count:,} line{'' if count == 1 else 's'}, {size}"
    shape = _SHAPES.get(kind)
    if shape is None or len(content) > MOST_PARSED:
        return lines
    try:
        return f"{lines}, {shape(text.removeprefix(_BOM))}"
    except (ValueError, RecursionError, csv.Error):
        return f"{lines}, not valid {kind.partition('/')[2].removeprefix('x-')}"


def excerpt_of(content: bytes) -> str:
    """The description of a picture, or else the head and the tail of a text; empty if the file has
    neither."""
    return read_description(content) or head_and_tail(as_text(content) or "", DATA_SHOWN)


def input_text(path: str, content: bytes) -> str:
    """An unchanged file that the work reads: code and prose up to INPUT_SHOWN, data in excerpts."""
    text = as_text(content) or ""
    if is_source(path, content):
        return head_and_tail(text, INPUT_SHOWN)
    is_prose = media_type(path, content) in {"text/plain", "text/markdown"}
    return text if is_prose and 0 < len(text) <= INPUT_SHOWN else excerpt_of(content)


def _table(text: str) -> str:
    first = text.partition("\n")[0]
    delimiter = max(",;\t|", key=first.count)
    rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row]
    if not rows:
        return "no rows"
    widths = sorted({len(row) for row in rows})
    columns = " to ".join(str(width) for width in dict.fromkeys((widths[0], widths[-1])))
    return f"{len(rows):,} rows x {columns} columns, the first row: {_names(rows[0])}"


def _json(text: str) -> str:
    return _value(json.loads(text))


def _json_lines(text: str) -> str:
    values = [json.loads(line) for line in text.split("\n") if line.strip()]
    return f"{len(values):,} values" + (f", the first is {_value(values[0])}" if values else "")


def _value(value: object) -> str:
    if isinstance(value, dict):
        return f"an object with {len(value):,} keys ({_names(list(value))})"
    if isinstance(value, list):
        first = f", the first is {_value(value[0])}" if value and isinstance(value[0], dict) else ""
        return f"a list of {len(value):,}{first}"
    return f"a {type(value).__name__}"


def _names(names: list[str]) -> str:
    return listed([visible(name.strip()[:LONGEST_NAME]) for name in names], NAMES_SHOWN)


_SHAPES: Mapping[str, Callable[[str], str]] = {
    "text/csv": _table,
    "text/tab-separated-values": _table,
    "application/json": _json,
    "application/geo+json": _json,
    "application/jsonl": _json_lines,
}


_WORD = re.compile(r"[\w./+-]+")
_IMPORT = re.compile(
    r"^[ \t]*(?:from|import)[ \t]+([\w.]+)(?:[ \t]+import[ \t]+\(?([\w, \t]+))?", re.MULTILINE
)
_ROOTS = ("", "src/", "lib/")
_ENDS = (".py", "/__init__.py")


def files_read(paths: Collection[str], texts: Iterable[str]) -> list[str]:
    """Those of `paths` that the `texts` name, sorted."""
    words, modules = set[str](), set[str]()
    for text in texts:
        words.update(_path_of(word) for word in _WORD.findall(text))
        modules.update(_modules(text))
    names = Counter(path.rpartition("/")[2] for path in paths)
    imported = {f"{root}{module}{end}" for root in _ROOTS for module in modules for end in _ENDS}
    return sorted(
        path
        for path in paths
        if path in words or path in imported or _is_named(path.rpartition("/")[2], words, names)
    )


def _path_of(word: str) -> str:
    return word.rstrip(".-/").removeprefix("./").removeprefix("/work/")


def _is_named(name: str, words: set[str], names: Counter[str]) -> bool:
    return name in words and names[name] == 1


def _modules(text: str) -> Iterable[str]:
    """The modules that Python code may import, as paths without an end."""
    for match in _IMPORT.finditer(text):
        module = match[1].strip(".").replace(".", "/")
        yield module
        for name in (match[2] or "").split(","):
            yield f"{module}/{name.strip()}".strip("/")


def paths_read(messages: Sequence[BaseMessage]) -> list[str]:
    """The paths of the calls of `read_file` in a conversation."""
    replies = (message for message in messages if isinstance(message, AIMessage))
    calls = (call for reply in replies for call in reply.tool_calls)
    return [str(call["args"].get("path", "")) for call in calls if call["name"] == "read_file"]

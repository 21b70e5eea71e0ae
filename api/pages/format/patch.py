"""The files that a patch changes as a page shows them. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup, escape

from api.http.foreign_text import visible
from jobs.view.patch_text import PatchFile, Row, read

LARGE = 500
"""Lines of a file's difference: a longer one is folded."""
LONGEST = 1_000
"""Characters of a line that are shown. Nobody has written a longer one: the file is generated."""
GENERATED = re.compile(
    r"(^|/)(package-lock\.json|npm-shrinkwrap\.json|pnpm-lock\.yaml|go\.sum|bun\.lockb)$"
    r"|\.(lock|map|min\.js|min\.css|pb\.go|snap)$|_pb2(_grpc)?\.pyi?$"
)


def folded(file: PatchFile) -> str:
    """Why a file is shown folded; '' where it is shown open."""
    if GENERATED.search(file.path) or file.longest > LONGEST:
        return "generated"
    return "large" if file.lines > LARGE else ""


@dataclass(slots=True)
class Folder:
    """A folder of changed files: those in it by name, with their numbers in the patch."""

    folders: dict[str, Folder] = field(default_factory=dict)
    files: dict[str, int] = field(default_factory=dict)


def shown(content: bytes) -> dict[str, Any]:
    """What the template of a patch takes: files, their tree, and the sums of their lines."""
    found = read(content)
    return {
        "files": found,
        "tree": tree(found),
        "insertions": sum(file.insertions for file in found),
        "deletions": sum(file.deletions for file in found),
    }


def tree(files: Sequence[PatchFile]) -> Folder:
    """The files by folder; a folder with nothing but one folder is one with it."""
    top = Folder()
    for number, file in enumerate(files):
        *folders, name = file.path.split("/")
        at = top
        for folder in folders:
            at = at.folders.setdefault(folder, Folder())
        at.files[name] = number
    return _joined(top)


def numbered(rows: Sequence[Row]) -> Markup:
    """The lines of a difference, each in a span with its kind as class and its numbers as
    `data-n`, which a style shows beside it: copied text has none."""
    wide = max((len(str(n)) for row in rows for n in (row.old, row.new) if n), default=1)
    lines = (
        f'<span class="d-{row.kind}" data-n="{row.old or "":>{wide}} {row.new or "":>{wide}}">'
        f"{_shown(row.text)}</span>"
        for row in rows
    )
    return Markup("\n".join(lines))  # noqa: S704 - kinds and numbers are ours, the text is escaped


def _shown(text: str) -> Markup:
    more = f" … {len(text) - LONGEST:,} more characters" if len(text) > LONGEST else ""
    return escape(visible(text[:LONGEST]) + more)


def _joined(folder: Folder) -> Folder:
    joined = (_named(name, _joined(inner)) for name, inner in folder.folders.items())
    return Folder(dict(joined), folder.files)


def _named(name: str, folder: Folder) -> tuple[str, Folder]:
    """The folder, or the one folder that it has nothing but."""
    if folder.files or len(folder.folders) != 1:
        return name, folder
    ((below, only),) = folder.folders.items()
    return f"{name}/{below}", only

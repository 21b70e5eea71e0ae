"""What a job has changed as parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from api.http.foreign_text import visible_path
from cli.client.change import Change, FileChange
from cli.render.parts import Code, Line, Part, Tone
from cli.render.patch import patch_of
from cli.render.runs import artifact_text
from cli.render.words import clip, patch_text, printable

PATCH_LINES = 400
FILE_LINES = 200
_LANGUAGES = {".py": "python", ".sh": "bash", ".json": "json", ".toml": "toml", ".sql": "sql"}


def change_parts(job: Mapping[str, Any], change: Change) -> Iterator[Part]:
    """The patch, or each changed file: the lines that differ, a new file in full."""
    if change.patch is not None:
        text = clip(printable(change.patch), PATCH_LINES)
        summary = patch_text(patch_of(job) or {})
        yield Line("change", f"{summary}; `fettle patch {job['id']}` writes all of it")
        yield Code(text, "diff")
    for file in change.files:
        yield from _file_parts(file)


def _file_parts(file: FileChange) -> Iterator[Part]:
    name = artifact_text(file.artifact) if file.artifact else visible_path(file.path)
    why = f": {file.why}" if file.why else ""
    yield Line(file.kind, name + why, Tone.WARN if why else Tone.PLAIN)
    if file.text:
        suffix = PurePosixPath(file.path).suffix
        language = "diff" if file.kind == "changed" else _LANGUAGES.get(suffix, "text")
        yield Code(clip(printable(file.text), FILE_LINES), language)

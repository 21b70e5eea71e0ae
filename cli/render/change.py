"""What a job has changed as parts, and the command that goes on from there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from api.http.foreign_text import visible_path
from cli.client.change import Change, FileChange
from cli.render.parts import Code, Line, Part, Tone
from cli.render.runs import artifact_parts
from cli.render.words import clip, language_of, patch_text, printable

PATCH_LINES = 400
FILE_LINES = 200


def patch_of(job: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The figures of the patch of its open review, else of its result; None without a patch."""
    about = job["review"]["payload"] if job["review"] else job["result"]
    return (about or {}).get("patch")


def patch_parts(job: Mapping[str, Any]) -> Iterator[Part]:
    """Its size; the command that shows it while a decision is open, else the command that applies
    it."""
    if patch := patch_of(job):
        command, does = ("patch", "shows") if job["review"] else ("apply", "applies")
        yield Line("patch", f"{patch_text(patch)}; `fettle {command} {job['id']}` {does} it")


def change_parts(job: Mapping[str, Any], change: Change) -> Iterator[Part]:
    """The patch, or each changed file: the lines that differ, a new file in full."""
    if change.patch is not None:
        text = clip(printable(change.patch), PATCH_LINES)
        summary = patch_text(patch_of(job) or {})
        yield Line("change", f"{summary}; `fettle patch {job['id']}` writes all of it")
        yield Code(text, "diff")
    for file in change.files:
        yield from _file_parts(file)
    if change.problem:
        yield Line("change", printable(change.problem), Tone.WARN)


def _file_parts(file: FileChange) -> Iterator[Part]:
    if file.artifact:
        yield from artifact_parts(file.kind, file.artifact)
    else:
        yield Line(file.kind, visible_path(file.path))
    if file.reason:
        yield Line("", file.reason, Tone.WARN)
    if file.text:
        language = "diff" if file.kind == "changed" else language_of(file.path)
        yield Code(clip(printable(file.text), FILE_LINES), language)

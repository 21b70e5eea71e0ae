"""The files of a job: as text, as a change, and written to a folder of this machine."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, TypeAlias

from cli.client import Job
from cli.errors import CliError
from fettle import Service
from fettle.errors import ApiError
from jobs.blobs import atomic_write

MOST_BYTES = 64 * 1024
"""A longer file is named and not fetched, because nobody would read it on a terminal."""


def save(
    service: Service, job_id: str, folder: Path, names: Collection[str] | None = None
) -> list[Path]:
    """Write the workspace's files (those with `names`) below `folder`; returns their paths."""
    stored_paths = [file["path"] for file in service.files(job_id)]
    return [
        write(folder, path, service.file(job_id, path))
        for path in stored_paths
        if names is None or path in names
    ]


def write(folder: Path, name: str, data: bytes) -> Path:
    """Write one file below `folder`. Raises CliError if the name leads out of `folder`, because a
    model's code has chosen the name."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\0" in name or not path.name:
        raise CliError("a file was not saved", f"its name {name!r} leads out of {folder}")
    target = folder.joinpath(*path.parts)
    if not target.resolve().is_relative_to(folder.resolve()):  # by a link that was there before
        raise CliError("a file was not saved", f"{target} leads out of {folder}")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)
    return target


def save_recording(service: Service, job_id: str, path: Path) -> None:
    """Write the recording in one step. Only its owner can read the file.

    Raises ApiError if the job has no recording, CliError if the file cannot be written.
    """
    content = service.recording(job_id)
    try:
        atomic_write.write(path, content)
    except OSError as error:
        raise CliError("the recording was not saved", f"{path}: {error.strerror}") from None


TextOf: TypeAlias = Callable[[Mapping[str, Any]], str | None]
"""A function from an artifact ({name, digest, size}) to the text of this version. It returns None
if the content is not text, is too long, or cannot be read any more."""


def text_of(service: Service, job_id: str, most_bytes: int = MOST_BYTES) -> TextOf:
    """The function that fetches texts of a job's artifacts."""

    def fetched(artifact: Mapping[str, Any]) -> str | None:
        if not 0 < artifact["size"] <= most_bytes:
            return None
        try:
            content = service.artifact(job_id, artifact["name"], digest=artifact["digest"])
        except ApiError:
            return None
        return as_text(content)

    return fetched


def as_text(content: bytes) -> str | None:
    """The bytes as UTF-8 text; None if they are not text."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text


@dataclass(frozen=True, slots=True)
class JobChange:
    """`patch`: in git's format, or None. `about`: its figures, {files, insertions,
    deletions}. `problem`: why the change cannot be read. `facts`: why a reviewer should look at a
    file, by path."""

    patch: str | None = None
    about: Mapping[str, int] = field(default_factory=dict)
    problem: str = ""
    facts: Mapping[str, Sequence[str]] = field(default_factory=dict)


def change_of(service: Service, job: Job) -> JobChange:
    """The change of the open review, else of the result. A change that cannot be read is a problem
    of it, so that the rest of the job can be shown."""
    work = job["review"]["payload"] if job["review"] else job["result"]
    if not work or "artifacts" not in work or (job["spec"].get("repo") and not work.get("patch")):
        return JobChange()
    try:
        changes = service.changes(job["id"])
        files = changes["files"]
        if not files and changes["complete"]:
            return JobChange()
        facts = {file["path"]: file["facts"] for file in files if file["facts"]}
        if not changes["complete"]:
            facts = {"the patch": ["it is too large to be checked"]}
        sums = {name: sum(file[name] for file in files) for name in ("insertions", "deletions")}
        about = changes["patch"] or {"files": len(files), **sums}
        patch = service.patch(job["id"]).decode(errors="backslashreplace")
        return JobChange(patch, about, facts=facts)
    except ApiError as refused:
        return JobChange(problem=str(refused))

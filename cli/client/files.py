"""A job's files: one as text, all saved to a folder of this machine, its recording."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, TypeAlias

from cli.client.service import Service
from cli.errors import CliError, Refused
from jobs.blobs import atomic_write

MOST_BYTES = 64 * 1024
"""A longer file is named and not fetched: nobody reads it as it scrolls by."""


def save(
    service: Service, job_id: str, folder: Path, names: Collection[str] | None = None
) -> list[Path]:
    """Write the workspace's files (those with `names`) below `folder`; returns where they lie."""
    found = [file["path"] for file in service.files(job_id)]
    return [
        write(folder, path, service.file(job_id, path))
        for path in found
        if names is None or path in names
    ]


def write(folder: Path, name: str, data: bytes) -> Path:
    """Write one file below `folder`. Model-written code chose the name: it may not leave."""
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
    """Write the recording, in one step, readable by its owner alone.

    Raises Refused where there is none, CliError where it cannot be written.
    """
    content = service.recording(job_id)
    try:
        atomic_write.write(path, content)
    except OSError as error:
        raise CliError("the recording was not saved", f"{path}: {error.strerror}") from None


TextOf: TypeAlias = Callable[[Mapping[str, Any]], str | None]
"""A function from an artifact ({name, digest, size}) to the text of this version. None if it is no
text, is too long, or cannot be read any more."""


def text_of(service: Service, job_id: str, most_bytes: int = MOST_BYTES) -> TextOf:
    """The function that fetches texts of a job's artifacts."""

    def fetched(made: Mapping[str, Any]) -> str | None:
        if not 0 < made["size"] <= most_bytes:
            return None
        try:
            content = service.artifact(job_id, made["name"], digest=made["digest"])
        except Refused:
            return None
        return as_text(content)

    return fetched


def as_text(content: bytes) -> str | None:
    """The bytes as text; None where they are none."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text

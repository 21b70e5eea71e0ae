"""Saving a job's files to a folder of this machine."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path, PurePosixPath

from cli.errors import CliError
from cli.service import Service


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

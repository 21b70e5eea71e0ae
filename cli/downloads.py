"""Saving a job's artifacts to a folder of this machine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from cli.errors import CliError
from cli.service import Service


def save(
    service: Service, job_id: str, artifacts: Iterable[Mapping[str, Any]], folder: Path
) -> list[Path]:
    """Write each artifact below `folder`; returns where they lie."""
    return [
        write(folder, artifact["name"], service.artifact(job_id, artifact["name"]))
        for artifact in artifacts
    ]


def write(folder: Path, name: str, data: bytes) -> Path:
    """Write one file below `folder`. Model-written code chose the name: it may not leave."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\0" in name or not path.name:
        raise CliError("a file was not saved", f"its name {name!r} leads out of {folder}")
    target = folder.joinpath(*path.parts)
    if not target.parent.resolve().is_relative_to(folder.resolve()):  # by a link in between
        raise CliError("a file was not saved", f"{target.parent} leads out of {folder}")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)
    return target

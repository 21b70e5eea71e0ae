"""Writes the files of a job to this folder."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from api.http.foreign_text import visible_path
from api.quantities import plural
from cli.client import Job
from cli.client.files import save
from cli.output import Screen
from cli.render.parts import Tone
from cli.repository.apply import warn_if_unapproved
from fettle import Service


def write_files(service: Service, job: Job, screen: Screen, ask: Callable[[str], str]) -> None:
    """Write the files of the job that differ from those of this folder, if the person agrees."""
    warn_if_unapproved(job, screen)
    files = [file for file in service.files(job["id"]) if _differs(file)]
    if not files:
        screen.line("applied", "this folder has all files of the job")
        return
    for file in files:
        does = "replaces your file" if Path(file["path"]).exists() else "new"
        screen.line("file", f"{visible_path(file['path'])} ({does})")
    count = plural(len(files), "file")
    if ask(f"write {count} to {Path.cwd()}? [y/N] ")[:1].lower() != "y":
        screen.text("nothing is written")
        return
    save(service, job["id"], Path(), {file["path"] for file in files})
    screen.line("applied", count, Tone.GOOD)


def _differs(file: Mapping[str, Any]) -> bool:
    """Whether this folder lacks this version of the file. Hidden names do not count: a model's code
    must not write, for example, to `.git`."""
    path = PurePosixPath(file["path"])
    if any(part.startswith(".") for part in path.parts):
        return False
    local = Path(path)
    return not local.is_file() or hashlib.sha256(local.read_bytes()).hexdigest() != file["digest"]

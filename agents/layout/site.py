"""Files of a `site-packages` directory that make a project importable, where `/work` has it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from agents.layout.editable import METADATA, METADATA_BYTES, editable
from agents.layout.importable import joined
from agents.tools.inside import pth_line

NAME = "project.pth"
_WORK = "/work"


def site_of(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """For a project whose files are all in `files`; empty for files without metadata. Pure."""
    texts = {
        name: files[name].decode(errors="replace")
        for name in METADATA
        if len(files.get(name, b"")) <= METADATA_BYTES and name in files
    }
    return project_site(files, texts)


def project_site(paths: Collection[str], texts: Mapping[str, str]) -> dict[str, bytes]:
    """The same, for the project with all these `paths`; `texts` are its files in `METADATA`."""
    if not texts:
        return {}
    importable = editable(paths, texts)
    lines = [str(Path(_WORK, directory)) for directory in importable.directories]
    if importable.modules:
        modules = {name: f"{_WORK}/{joined(path)}" for name, path in importable.modules.items()}
        lines.append(pth_line("finder", MODULES=modules))
    return {NAME: "".join(f"{line}\n" for line in lines).encode()} if lines else {}

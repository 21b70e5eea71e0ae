"""The files of a run's `site-packages` directory that make a project importable, and the
dependencies that its setup has installed.

Fettle puts no file into the workspace and sets no environment variable for this. So a program that
starts another program with a different environment still finds the same modules. Python reads the
`.pth` files in the order of their names: first the project, then the dependencies.

Why: docs/decisions/0056-dependencies-are-a-layer.md, 0069-a-run-is-what-a-clone-does.md
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from agents.layout.distribution import ENTRY_POINTS
from agents.layout.editable import METADATA, METADATA_BYTES, editable, editable_metadata
from agents.layout.importable import joined
from agents.sandbox_programs import pth_line

NAME = "project.pth"
SETUP_PTH = "setup.pth"
_DISTRIBUTION = "version-of-project"
"""A directory that no import finds, and the name of its `.pth` file. It is read after `setup.pth`:
a setup that has installed the project knows its true version."""
_WORK = "/work"


def setup_pth() -> bytes:
    """The file `SETUP_PTH`. It adds the packages of `.setup/` to the module path."""
    return f"{pth_line('setup_packages')}\n".encode()


def site_of(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """For a project whose files are all in `files`; empty for files without metadata. A check uses
    this site, so it has no entry points: no plug-in of the work that it checks is loaded. Pure."""
    texts = {
        name: files[name].decode(errors="replace")
        for name in METADATA
        if len(files.get(name, b"")) <= METADATA_BYTES and name in files
    }
    site = project_site(files, texts)
    return {name: data for name, data in site.items() if not name.endswith(f"/{ENTRY_POINTS}")}


def project_site(paths: Collection[str], texts: Mapping[str, str]) -> dict[str, bytes]:
    """For the project with all these `paths`; `texts` are its files in `METADATA`."""
    if not texts:
        return {}
    importable = editable(paths, texts)
    lines = [str(Path(_WORK, directory)) for directory in importable.directories]
    if importable.modules:
        modules = {name: f"{_WORK}/{joined(path)}" for name, path in importable.modules.items()}
        lines.append(pth_line("finder", MODULES=modules))
    site = {NAME: "".join(f"{line}\n" for line in lines).encode()} if lines else {}
    if files := editable_metadata(paths, texts):
        site[f"{_DISTRIBUTION}.pth"] = f"{_DISTRIBUTION}\n".encode()
        site |= {f"{_DISTRIBUTION}/{path}": data for path, data in files.items()}
    return site

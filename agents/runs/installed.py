"""Makes installed packages importable in a sandbox. Pure.

A package is one file of the workspace, its wheel, under `.packages/`. Unpacked it would be
thousands of files, each a line in every manifest. The first interpreter of a sandbox unpacks it.

What a repository's setup has installed is a layer, with a virtual environment in `.setup/`.

Both, and the project's own modules, are on the module path by files of the run's `site-packages`:
no file of Fettle is among those of the workspace, and no environment variable is needed, so a
program that starts another one with an environment of its own finds the same.

Why: docs/decisions/0056-dependencies-are-a-layer.md, 0069-a-run-is-what-a-clone-does.md
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Mapping

from agents.tools.inside import pth_line
from sandbox.protocol import MIB

FOLDER = ".packages"
SETUP = ".setup"
SETUP_PROGRAMS = f"{SETUP}/bin"
MOST_UNPACKED = 48 * MIB
MOST_FILES = 4_000
"""The bounds of all packages together: a sandbox's `/tmp` also holds the programs' own files."""


def is_package(path: str) -> bool:
    """Whether a file of the workspace is an installed package."""
    return path.startswith(f"{FOLDER}/") and path.endswith(".whl")


def belongs_to_install(path: str) -> bool:
    """Whether a path is reserved for what is installed: files there come from the operator's
    index."""
    return path.partition("/")[0] in {FOLDER, SETUP}


def too_much(wheels: Iterable[bytes]) -> str | None:
    """Why a sandbox cannot unpack these wheels, or None."""
    size = files = 0
    for wheel in wheels:
        with zipfile.ZipFile(io.BytesIO(wheel)) as archive:
            entries = archive.infolist()
        size += sum(entry.file_size for entry in entries)
        files += len(entries)
    if size <= MOST_UNPACKED and files <= MOST_FILES:
        return None
    return (
        f"unpacked, the packages are {size // MIB} MiB in {files} files; a sandbox holds at most "
        f"{MOST_UNPACKED // MIB} MiB in {MOST_FILES}"
    )


def site_files(
    files: Iterable[str], *, setup: bool, project: Mapping[str, bytes]
) -> dict[str, bytes]:
    """The files of a run's `site-packages` (`sandbox.protocol.Command.site`); empty if the run uses
    only the packages of the sandbox.

    Python reads them in the order of their names: first the modules of the `project` itself, then
    the packages that its `setup` has installed, then the packages among `files`.
    """
    site = dict(project)
    if setup:
        site["setup.pth"] = f"{pth_line('setup_packages')}\n".encode()
    if any(map(is_package, files)):
        site["wheels.pth"] = f"{pth_line('unpack')}\n".encode()
    return site

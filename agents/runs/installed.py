"""Makes installed packages importable in a sandbox. Pure.

A package is one file of the workspace, its wheel, under `.packages/`. Unpacked it would be
thousands of files, each a line in every manifest. The code that unpacks it is added in the sandbox
alone, as `sitecustomize.py`, which every interpreter imports at its start. So Python programs, a
shell's `python` and pytest all see the packages, after those of the sandbox itself.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Mapping

from sandbox.protocol import MIB

FOLDER = ".packages"
START = "sitecustomize.py"
MOST_UNPACKED = 48 * MIB
MOST_FILES = 4_000
"""The bounds of all packages together: a sandbox's `/tmp` also holds the programs' own files."""

_UNPACK = """\
def _unpack_packages():
    import os, sys, zipfile
    target = "/tmp/.packages"
    if not os.path.isdir(target):
        part = f"{target}-{os.getpid()}"
        for name in sorted(os.listdir("/work/.packages")):
            if name.endswith(".whl"):
                zipfile.ZipFile(f"/work/.packages/{name}").extractall(part)
        for name in os.listdir(part):
            if name.endswith(".data"):
                for kind in ("purelib", "platlib"):
                    place = f"{part}/{name}/{kind}"
                    for each in os.listdir(place) if os.path.isdir(place) else ():
                        os.rename(f"{place}/{each}", f"{part}/{each}")
        try:
            os.rename(part, target)
        except OSError:
            pass  # another process of this sandbox was first
    sys.path.append(target)


_unpack_packages()
del _unpack_packages
"""


def is_package(path: str) -> bool:
    """Whether a file of the workspace is an installed package."""
    return path.startswith(f"{FOLDER}/") and path.endswith(".whl")


def belongs_to_install(path: str) -> bool:
    """Whether a path is reserved for `install`: files there come from the operator's index."""
    return path.partition("/")[0] == FOLDER


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


def with_packages(files: Mapping[str, bytes]) -> Mapping[str, bytes]:
    """The files as a sandbox gets them: with the code that unpacks installed packages, if there are
    any. A `sitecustomize.py` of the workspace runs after it."""
    if not any(map(is_package, files)):
        return files
    return {**files, START: _UNPACK.encode() + files.get(START, b"")}

"""Makes installed packages importable in a sandbox. Pure.

A package is one file of the workspace, its wheel, under `.packages/`. Unpacked it would be
thousands of files, each a line in every manifest. The code that unpacks it is added in the sandbox
alone, as `sitecustomize.py`, which every interpreter imports at its start. So Python programs, a
shell's `python` and pytest all see the packages, after those of the sandbox itself.

What a repository's setup has installed is a layer, with a virtual environment in `.setup/`. Its
packages come before those of the sandbox, and its programs are the first that a shell finds.

Why: docs/decisions/0056-dependencies-are-a-layer.md
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable, Mapping

from sandbox.protocol import MIB

FOLDER = ".packages"
SETUP = ".setup"
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

_USE_SETUP = """\
def _use_setup():
    import os, site, sys
    top = "/work/.setup"
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    folder = f"{top}/lib/{version}/site-packages"
    if os.path.isdir(folder) and folder not in sys.path:
        before = list(sys.path)
        site.addsitedir(folder)
        added = [place for place in sys.path if place not in before]
        own = (n for n, place in enumerate(before) if place.endswith("-packages"))
        at = next(own, len(before))
        sys.path[:] = [*before[:at], *added, *before[at:]]
    path = os.environ.get("PATH", os.defpath)
    if not path.startswith(f"{top}/bin:"):
        os.environ["PATH"] = f"{top}/bin:{path}"


_use_setup()
del _use_setup
"""
_FIRST_ON_PATH = 'PATH="/work/.setup/bin:$PATH"; export PATH; exec "$0" "$@"'


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


def with_packages(files: Mapping[str, bytes]) -> Mapping[str, bytes]:
    """The files as a sandbox gets them: with the code that unpacks installed packages, if there are
    any. A `sitecustomize.py` of the workspace runs after it."""
    if not any(map(is_package, files)):
        return files
    return {**files, START: _UNPACK.encode() + files.get(START, b"")}


def with_setup(files: Mapping[str, bytes]) -> Mapping[str, bytes]:
    """The files as a sandbox gets them that has a setup's layer: every interpreter finds it."""
    return {**files, START: _USE_SETUP.encode() + files.get(START, b"")}


def found_first(argv: tuple[str, ...]) -> tuple[str, ...]:
    """The words that run a program where a setup's own come first; an interpreter sees to that by
    itself."""
    return argv if argv[0] == "python" else ("sh", "-c", _FIRST_ON_PATH, *argv)

"""Files in `/etc` that the interpreter needs, and programs with a directory of their own (a JDK).

A sandbox has an `/etc` of its own. Distributions keep the configuration of a JDK below `/etc`, and
link to it from the directory of the JDK; Java does not start without these files. Debian links a
module of Python's standard library there, `sitecustomize`, which hides a module of this name in
other places.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

SYSTEM_DIRECTORIES = ("/", "/usr", "/usr/local")
"""Directories that programs share."""


def configuration(
    programs: Iterable[str], path: str, etc: Path = Path("/etc")
) -> Iterator[tuple[str, bytes]]:
    """The linked files of `programs` with a directory of their own; `path` is the search path."""
    located = (shutil.which(program, path=path) for program in programs)
    directories = {Path(file).resolve().parent.parent for file in located if file is not None}
    for directory in sorted(directories - set(map(Path, SYSTEM_DIRECTORIES))):
        yield from linked_files(directory, etc)


def linked_files(directory: Path, etc: Path = Path("/etc")) -> Iterator[tuple[str, bytes]]:
    """The files below `etc` that symbolic links below `directory` name, by path, with their
    contents. A file that not every user can read is left out, because it may hold a secret.
    """
    for target in _linked(directory, etc):
        for file in (target, *sorted(target.rglob("*"))):
            if _is_readable_by_all(file):
                yield str(file), file.read_bytes()


def _linked(directory: Path, etc: Path) -> Iterator[Path]:
    """The targets below `etc` of all symbolic links below `directory`."""
    for folder, directories, files in os.walk(directory):
        for entry in (Path(folder, name) for name in (*directories, *files)):
            if entry.is_symlink():
                target = Path(os.path.normpath(entry.parent / entry.readlink()))
                if target.is_relative_to(etc) and target != etc:
                    yield target


def _is_readable_by_all(file: Path) -> bool:
    try:
        mode = file.stat().st_mode
    except OSError:  # a link without a target
        return False
    return stat.S_ISREG(mode) and bool(mode & stat.S_IROTH)

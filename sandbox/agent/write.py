"""Writes files into `/work` before the run starts, so that no process changes them meanwhile."""

# ruff: noqa: PTH101, PTH102, PTH103, PTH106, PTH108, PTH118, PTH120, PTH123, PTH208, PTH211

from __future__ import annotations

import os
import stat

from sandbox.agent.walk import above
from sandbox.paths import ELF, is_program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


_PROGRAM_MODE = 0o755


class Written:
    """What is written to `/work` before a run: regular files, which of them are executable (by
    default those that take the place of an executable file, or begin as a program does), and
    symbolic links by their targets.
    """

    def __init__(
        self,
        files: Mapping[str, bytes],
        executable: Mapping[str, bool] | None = None,
        links: Mapping[str, str] | None = None,
    ) -> None:
        self.files = files
        self.executable = dict(executable or {})
        self.links = links or {}

    @property
    def paths(self) -> set[str]:
        """All paths that are written."""
        return {*self.files, *self.links}

    def is_executable(self, path: str) -> bool:
        """Whether a written file can be executed."""
        executable = self.executable.get(path)
        return is_program(self.files[path]) if executable is None else executable


def write_files(work: str, written: Written) -> None:
    """Write to `work`, which is empty."""
    for path in written.paths:
        os.makedirs(os.path.dirname(f"{work}/{path}"), exist_ok=True)
    for path in written.files:
        _write(f"{work}/{path}", written, path)
    for path, target in written.links.items():
        os.symlink(target, f"{work}/{path}")


def write_over(work: str, written: Written, removed: Iterable[str]) -> None:
    """Remove the `removed` paths from `work`, then write to it; entries that are in the way are
    removed, too. Notes in `written` which files replace an executable file.
    """
    _remove(work, removed)
    directories = {""}
    for path in written.files:
        _make_way(work, os.path.dirname(path), directories)
        mode = _clear(f"{work}/{path}")
        if mode is not None:
            written.executable.setdefault(path, bool(mode & stat.S_IXUSR))
        _write(f"{work}/{path}", written, path)
    for path, target in written.links.items():
        _make_way(work, os.path.dirname(path), directories)
        _clear(f"{work}/{path}")
        os.symlink(target, f"{work}/{path}")


def _write(target: str, written: Written, path: str) -> None:
    """Write the file `path` to the absolute path `target`.

    A workspace does not hold times. A compiled file gets a time before all sources, so that `make`
    compiles it again.
    """
    data = written.files[path]
    with open(target, "wb") as file:
        file.write(data)
    if written.is_executable(path):
        os.chmod(target, _PROGRAM_MODE)
    if data.startswith(ELF):
        os.utime(target, (0, 0))


def _remove(work: str, paths: Iterable[str]) -> None:
    """Remove the entries at `paths` that exist, and then the directories that became empty. A path
    that leads through a link removes nothing.
    """
    is_directory: dict[str, bool] = {}
    for path in paths:
        for parent in above(path):
            if parent not in is_directory:
                is_directory[parent] = _is_directory(f"{work}/{parent}")
        if all(is_directory[parent] for parent in above(path)):
            _clear(f"{work}/{path}")
    # At the end, the deepest first: to try `rmdir` for each path would take long.
    directories = (path for path, exists in is_directory.items() if exists)
    for directory in sorted(directories, key=len, reverse=True):
        try:  # noqa: SIM105  (contextlib is slow to import)
            os.rmdir(f"{work}/{directory}")
        except OSError:
            pass


def _make_way(work: str, path: str, directories: set[str]) -> None:
    """Make `path` and its parents directories. `directories`: the paths that are directories
    already; adds `path`."""
    if path in directories:
        return
    _make_way(work, os.path.dirname(path), directories)
    target = f"{work}/{path}"
    if not _is_directory(target):
        _clear(target)
        os.mkdir(target)
    directories.add(path)


def _is_directory(path: str) -> bool:
    mode = _mode(path)
    return mode is not None and stat.S_ISDIR(mode)


def _clear(path: str) -> int | None:
    """Remove the entry of this name, if it exists; returns its mode if it was a regular file."""
    mode = _mode(path)
    if mode is None:
        return None
    if stat.S_ISDIR(mode):
        for name in os.listdir(path):
            _clear(os.path.join(path, name))
        os.rmdir(path)
        return None
    os.unlink(path)
    return stat.S_IMODE(mode) if stat.S_ISREG(mode) else None


def _mode(path: str) -> int | None:
    try:
        return os.lstat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None

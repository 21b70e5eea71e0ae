"""Files into `/work`, before anything of the run has started: nothing moves meanwhile."""

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
        known = self.executable.get(path)
        return is_program(self.files[path]) if known is None else known


def write_files(work: str, written: Written) -> None:
    """Write to `work`, which is empty."""
    for path in written.paths:
        os.makedirs(os.path.dirname(f"{work}/{path}"), exist_ok=True)
    for path in written.files:
        _write(f"{work}/{path}", written, path)
    for path, target in written.links.items():
        os.symlink(target, f"{work}/{path}")


def write_over(work: str, written: Written, removed: Iterable[str]) -> None:
    """Remove from `work`, then write to it; whatever is in the way makes room. Notes in `written`
    which files take the place of an executable file.
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


def _write(place: str, written: Written, path: str) -> None:
    """Write one file.

    A workspace does not hold times: what was compiled is older than its sources, so that `make`
    does not take it for up to date.
    """
    data = written.files[path]
    with open(place, "wb") as file:
        file.write(data)
    if written.is_executable(path):
        os.chmod(place, _PROGRAM_MODE)
    if data.startswith(ELF):
        os.utime(place, (0, 0))


def _remove(work: str, paths: Iterable[str]) -> None:
    """Remove what each of `paths` names, where it is there, and the directories that are empty
    then. Nothing is removed by way of a link.
    """
    known: dict[str, bool] = {}
    for path in paths:
        for place in above(path):
            if place not in known:
                known[place] = _is_directory(f"{work}/{place}")
        if all(known[place] for place in above(path)):
            _clear(f"{work}/{path}")
    # At the end, and the deepest first: whether one is empty is a question that takes long.
    for place in sorted((each for each in known if known[each]), key=len, reverse=True):
        try:  # noqa: SIM105  (contextlib is slow to import)
            os.rmdir(f"{work}/{place}")
        except OSError:
            pass


def _make_way(work: str, path: str, directories: set[str]) -> None:
    """Have `path` be a directory, and every one above it; `directories` are known to be."""
    if path in directories:
        return
    _make_way(work, os.path.dirname(path), directories)
    place = f"{work}/{path}"
    if not _is_directory(place):
        _clear(place)
        os.mkdir(place)
    directories.add(path)


def _is_directory(place: str) -> bool:
    mode = _mode(place)
    return mode is not None and stat.S_ISDIR(mode)


def _clear(place: str) -> int | None:
    """Remove whatever has this name; returns the mode of what was a regular file."""
    mode = _mode(place)
    if mode is None:
        return None
    if stat.S_ISDIR(mode):
        for name in os.listdir(place):
            _clear(os.path.join(place, name))
        os.rmdir(place)
        return None
    os.unlink(place)
    return stat.S_IMODE(mode) if stat.S_ISREG(mode) else None


def _mode(place: str) -> int | None:
    try:
        return os.lstat(place).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None

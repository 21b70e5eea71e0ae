"""Files into `/work`, before anything of the run has started: nothing moves meanwhile."""

# ruff: noqa: PTH101, PTH102, PTH103, PTH106, PTH108, PTH118, PTH120, PTH123, PTH208

from __future__ import annotations

import os
import stat

from sandbox.agent.walk import above

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


_ELF = b"\x7fELF"


def write_files(work: str, files: Mapping[str, bytes]) -> None:
    """Write `files` below `work`, which is empty."""
    for path, data in files.items():
        place = f"{work}/{path}"
        os.makedirs(os.path.dirname(place), exist_ok=True)
        _write(place, data)


def write_over(work: str, files: Mapping[str, bytes], removed: Iterable[str]) -> None:
    """Remove from `work`, then write `files` to it; whatever is in their way makes room. A file
    that takes the place of another has its mode.
    """
    _remove(work, removed)
    directories = {""}
    for path, data in files.items():
        _make_way(work, os.path.dirname(path), directories)
        place = f"{work}/{path}"
        mode = _clear(place)
        _write(place, data)
        if mode is not None:
            os.chmod(place, mode)


def mode_of(data: bytes) -> int:
    """The mode of a new file. A workspace holds none; what can be executed may be."""
    return 0o755 if data.startswith((b"#!", _ELF)) else 0o644


def _write(place: str, data: bytes) -> None:
    """Write one file.

    A workspace does not hold times either: what was compiled is older than its sources, so that
    `make` does not take it for up to date.
    """
    with open(place, "wb") as file:
        file.write(data)
    if (mode := mode_of(data)) != 0o644:
        os.chmod(place, mode)
    if data.startswith(_ELF):
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

"""Unpacks the result of a setup into a folder. Code in a sandbox has sent the archive, so it may
have any bytes. It is a sequence of entries: an ENTRY, a name and a content (`inside.py`)."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from worker.repositories.errors import SetupFailed
from worker.repositories.folders import BYTES_FILE, TOP
from worker.repositories.setups.inside import ENTRY, FILE, FOLDER, LINK, PROGRAM

NAME_BYTES = 256
"""The average size of a name and a link target: the worker has all of them in memory."""
_LONGEST = 4_096
"""The longest path of Linux (PATH_MAX)."""
_AT_ONCE = 1024 * 1024
_CUT = "it ends in the middle"
_DEEPEST = 200
"""The deepest nesting of folders: to walk through folders and to remove them is recursive."""
_WRONG_NAMES = frozenset({errno.EEXIST, errno.ENAMETOOLONG, errno.ENOENT, errno.ENOTDIR})
"""The `errno` of an OSError that a wrong name causes. A disk causes the others."""


class _Entry(NamedTuple):
    kind: bytes
    seconds: int
    name: bytes
    size: int


def unpack(archive: Path, folder: Path, most_bytes: int, most_files: int) -> int:
    """Unpack directories, files and symbolic links into the new `folder`; return their bytes.

    Links may lead to any path, like the links of a commit: only sandboxes follow them. They are
    created last, so that no file is written through a link. Raises SetupFailed. Blocks.
    """
    _make_folder(folder)
    try:
        with archive.open("rb") as file:
            return _unpack_entries(file, folder, most_bytes, most_files)
    except ValueError as error:
        raise SetupFailed(f"its result cannot be stored: {error}") from None
    except OSError as error:
        if error.errno not in _WRONG_NAMES:
            raise
        raise SetupFailed(f"its result cannot be stored: {error.strerror}") from None


def _unpack_entries(file: BinaryIO, folder: Path, most_bytes: int, most_files: int) -> int:
    links: list[tuple[str, bytes]] = []
    total = names = 0
    for number, entry in enumerate(_entries(file)):
        total += entry.size
        names += len(entry.name) + (entry.size if entry.kind == LINK else 0)
        if total > most_bytes or number >= most_files:
            raise SetupFailed(
                f"it left more than {most_bytes} bytes in {most_files} files (FETTLE_SETUP_BYTES)"
            )
        if names > NAME_BYTES * most_files:
            raise ValueError(f"names of {most_files} files take more than {NAME_BYTES} bytes each")
        path = _target_path(entry, folder)
        if entry.kind != LINK:
            _unpack_entry(file, entry, path)
        elif path.parent.is_dir():
            links.append((str(path), _read(file, entry.size)))
        else:
            raise ValueError(f"{os.fsdecode(entry.name)!r} is in a folder that was not sent")
    for link, target in links:
        Path(link).symlink_to(os.fsdecode(target))
    return total


def _entries(file: BinaryIO) -> Iterator[_Entry]:
    """The entries. The content of an entry must be read before the next entry."""
    while head := file.read(ENTRY.size):
        if len(head) < ENTRY.size:
            raise ValueError(_CUT)
        kind, seconds, name, size = ENTRY.unpack(head)
        yield _Entry(kind, seconds, _read(file, name), size)


def _read(file: BinaryIO, size: int) -> bytes:
    """A name, or a link's target."""
    if size > _LONGEST:
        raise ValueError(f"a name has more than {_LONGEST} bytes")
    if len(content := file.read(size)) < size:
        raise ValueError(_CUT)
    return content


def _target_path(entry: _Entry, folder: Path) -> Path:
    """The path of an entry. Raises ValueError for a name that leads out of the folder, and for a
    path that the worker writes."""
    name = os.fsdecode(entry.name)
    parts = name.split("/")
    is_reserved = parts[0] == ".git" or parts[:2] == [TOP, BYTES_FILE]
    if (
        is_reserved
        or (name == TOP and entry.kind != FOLDER)
        or not {"", ".", ".."}.isdisjoint(parts)
    ):
        raise ValueError(f"{name!r} may not be created by a setup")
    if len(parts) > _DEEPEST:
        raise ValueError(f"more than {_DEEPEST} folders are nested")
    return folder.joinpath(*parts)


def _unpack_entry(file: BinaryIO, entry: _Entry, path: Path) -> None:
    """Create a directory, or a file with its time. Modes are the modes of a commit's layer."""
    if entry.kind == FOLDER and not entry.size:
        _make_folder(path)
        return
    if entry.kind not in {FILE, PROGRAM}:
        raise ValueError(f"{os.fsdecode(entry.name)!r} is no directory, file or symbolic link")
    remaining = entry.size
    with path.open("xb") as target:
        while remaining:
            if not (part := file.read(min(remaining, _AT_ONCE))):
                raise ValueError(_CUT)
            target.write(part)
            remaining -= len(part)
    path.chmod(0o755 if entry.kind == PROGRAM else 0o644)
    os.utime(path, (entry.seconds, entry.seconds))


def _make_folder(path: Path) -> None:
    path.mkdir()
    path.chmod(0o755)  # independent of the umask of the process

"""What a setup has left, unpacked into a folder. The archive is whatever code in a sandbox sent: a
row of entries, each an ENTRY, a name and a content (`inside.py`)."""

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
"""Of a name and the target of a link, on average: the worker holds them all at once."""
_LONGEST = 4_096
"""A path of Linux (PATH_MAX)."""
_AT_ONCE = 1024 * 1024
_CUT = "it ends in the middle"
_DEEPEST = 200
"""Folders in each other: walking through them, and removing them, is recursive."""
_WRONG_NAMES = frozenset({errno.EEXIST, errno.ENAMETOOLONG, errno.ENOENT, errno.ENOTDIR})
"""Of an OSError; others are the disk's."""


class _Entry(NamedTuple):
    kind: bytes
    seconds: int
    name: bytes
    size: int


def unpacked(archive: Path, folder: Path, most_bytes: int, most_files: int) -> int:
    """Unpack directories, files and symbolic links into the new `folder`; returns their bytes.

    Links may lead anywhere, as those of a commit do: only sandboxes follow them. They are made
    last, so that nothing is written through one. Raises SetupFailed. Blocks: for a thread.
    """
    _make_folder(folder)
    try:
        with archive.open("rb") as file:
            return _unpacked(file, folder, most_bytes, most_files)
    except ValueError as error:
        raise SetupFailed(f"what it left cannot be kept: {error}") from None
    except OSError as error:
        if error.errno not in _WRONG_NAMES:
            raise
        raise SetupFailed(f"what it left cannot be kept: {error.strerror}") from None


def _unpacked(file: BinaryIO, folder: Path, most_bytes: int, most_files: int) -> int:
    links: list[tuple[str, bytes]] = []
    taken = names = 0
    for number, entry in enumerate(_entries(file)):
        taken += entry.size
        names += len(entry.name) + (entry.size if entry.kind == LINK else 0)
        if taken > most_bytes or number >= most_files:
            raise SetupFailed(
                f"it left more than {most_bytes} bytes in {most_files} files (FETTLE_SETUP_BYTES)"
            )
        if names > NAME_BYTES * most_files:
            raise ValueError(f"names of {most_files} files take more than {NAME_BYTES} bytes each")
        path = _place(entry, folder)
        if entry.kind != LINK:
            _make(file, entry, path)
        elif path.parent.is_dir():
            links.append((str(path), _read(file, entry.size)))
        else:
            raise ValueError(f"{os.fsdecode(entry.name)!r} is in no folder that was sent")
    for place, target in links:
        Path(place).symlink_to(os.fsdecode(target))
    return taken


def _entries(file: BinaryIO) -> Iterator[_Entry]:
    """Each at its content, which has to be read before the next one."""
    while head := file.read(ENTRY.size):
        if len(head) < ENTRY.size:
            raise ValueError(_CUT)
        kind, seconds, name, size = ENTRY.unpack(head)
        yield _Entry(kind, seconds, _read(file, name), size)


def _read(file: BinaryIO, size: int) -> bytes:
    """A name, or a link's target."""
    if size > _LONGEST:
        raise ValueError(f"a name has more than {_LONGEST} bytes")
    if len(found := file.read(size)) < size:
        raise ValueError(_CUT)
    return found


def _place(entry: _Entry, folder: Path) -> Path:
    """Where an entry goes. Raises ValueError for a name that leads out of the folder, and for what
    the worker itself writes to."""
    name = os.fsdecode(entry.name)
    parts = name.split("/")
    own = parts[0] == ".git" or parts[:2] == [TOP, BYTES_FILE]
    if own or (name == TOP and entry.kind != FOLDER) or not {"", ".", ".."}.isdisjoint(parts):
        raise ValueError(f"{name!r} is not a setup's to make")
    if len(parts) > _DEEPEST:
        raise ValueError(f"more than {_DEEPEST} folders are in each other")
    return folder.joinpath(*parts)


def _make(file: BinaryIO, entry: _Entry, path: Path) -> None:
    """A directory, or a file with its time; modes are as a commit's layer has them."""
    if entry.kind == FOLDER and not entry.size:
        _make_folder(path)
        return
    if entry.kind not in {FILE, PROGRAM}:
        raise ValueError(f"{os.fsdecode(entry.name)!r} is no directory, file or symbolic link")
    left = entry.size
    with path.open("xb") as made:
        while left:
            if not (part := file.read(min(left, _AT_ONCE))):
                raise ValueError(_CUT)
            made.write(part)
            left -= len(part)
    path.chmod(0o755 if entry.kind == PROGRAM else 0o644)
    os.utime(path, (entry.seconds, entry.seconds))


def _make_folder(path: Path) -> None:
    path.mkdir()
    path.chmod(0o755)  # whatever the process' umask is

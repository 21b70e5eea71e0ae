"""What a setup has left, unpacked into a folder. The archive is whatever code in a sandbox sent."""

from __future__ import annotations

import errno
import io
import os
import shutil
import tarfile
from pathlib import Path, PurePosixPath

from worker.repositories.errors import SetupFailed
from worker.repositories.places import TOP

_AT_ONCE = 1024 * 1024
_LATEST = 2**33
"""Seconds since 1970: later times do not go into every file system."""
_DEEPEST = 200
"""Folders in each other: walking through them, and removing them, is recursive."""
_WRONG = (tarfile.TarError, EOFError, ValueError, OverflowError, RecursionError)
_WRONG_NAMES = frozenset({errno.EEXIST, errno.ENAMETOOLONG, errno.ENOENT, errno.ENOTDIR})
"""Of an OSError; others are the disk's."""


class _Bounded(io.FileIO):
    """A file of which no more is read at once: tarfile takes as much as a header says."""

    def read(self, size: int | None = -1, /) -> bytes:
        """See FileIO. Raises tarfile.ReadError."""
        if size is None or not 0 <= size <= _AT_ONCE:
            raise tarfile.ReadError("a header is too long")
        return super().read(size) or b""


def unpacked(archive: Path, folder: Path, most_bytes: int, most_files: int) -> int:
    """Unpack directories, files and symbolic links into the new `folder`; returns their bytes.

    Links may lead anywhere, as those of a commit do: only sandboxes follow them. They are made
    last, so that nothing is written through one. Raises SetupFailed. Blocks: for a thread.
    """
    folder.mkdir()
    links: dict[Path, str] = {}
    folders = {folder}
    taken = 0
    try:
        with _Bounded(archive) as file, tarfile.open(fileobj=file, mode="r:") as tar:
            for number, member in enumerate(tar):
                path = _place(member, folder)
                _add_above(path, folders)
                taken += member.size
                if taken > most_bytes or number >= most_files or len(folders) > most_files:
                    raise SetupFailed(
                        f"it left more than {most_bytes} bytes in {most_files} files "
                        "(FETTLE_SETUP_BYTES)"
                    )
                if member.issym():
                    links[path] = member.linkname
                else:
                    _extract(tar, member, path)
        for path in links:
            path.parent.mkdir(parents=True, exist_ok=True)
        for path, target in links.items():
            path.symlink_to(target)
    except _WRONG as error:
        raise SetupFailed(f"what it left cannot be kept: {error}") from None
    except OSError as error:
        if error.errno not in _WRONG_NAMES:
            raise
        raise SetupFailed(f"what it left cannot be kept: {error.strerror}") from None
    for place, _, _ in os.walk(folder):
        Path(place).chmod(0o755)
    return taken


def _place(member: tarfile.TarInfo, folder: Path) -> Path:
    """Where a member goes. Raises tarfile.TarError for a name that leads out of the folder, and
    for what the worker itself writes to."""
    first, *rest = PurePosixPath(member.name).parts or ("..",)
    own = first == ".git" or (first == TOP and not rest and not member.isdir())
    if own or first.startswith("/") or ".." in (first, *rest):
        raise tarfile.ReadError(f"{member.name!r} is not a setup's to make")
    if member.size < 0 or member.issparse():
        raise tarfile.ReadError(f"{member.name!r} has another size than its content")
    if len(rest) > _DEEPEST:
        raise tarfile.ReadError(f"more than {_DEEPEST} folders are in each other")
    return folder.joinpath(first, *rest)


def _add_above(path: Path, folders: set[Path]) -> None:
    """Add the folders that a path is in: the archive may have none of them."""
    for each in path.parents:
        if each in folders:
            return
        folders.add(each)


def _extract(tar: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> None:
    """A directory, or a file with its time; modes are as a commit's layer has them."""
    if member.isdir():
        path.mkdir(parents=True, exist_ok=True)
        return
    source = tar.extractfile(member) if member.isreg() else None
    if source is None:
        raise tarfile.ReadError(f"{member.name!r} is no directory, file or symbolic link")
    path.parent.mkdir(parents=True, exist_ok=True)
    with source, path.open("xb") as file:
        shutil.copyfileobj(source, file, _AT_ONCE)
    path.chmod(0o755 if member.mode & 0o100 else 0o644)
    when = min(max(int(member.mtime), 0), _LATEST)
    os.utime(path, (when, when))

"""The folders of mirrors and layers: they appear as a whole or not at all, and have locks (flock).

    mirrors/NAME/   a bare repository; `.work` in it is the lock of its writers
    layers/NAME/    a checked-out tree with its `.git`, or the result of a setup
    making/...      folders that are being made or removed

A process that uses a mirror or a layer holds a shared lock on its folder, and a process at work in
`making` holds an exclusive lock on its folder there: a folder without a lock can be removed. The
kernel releases a lock when the last process that has the descriptor ends, however it ends.
"""

from __future__ import annotations

import asyncio
import errno
import fcntl
import os
import shutil
import stat
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import structlog

from worker.repositories.errors import RepositoryDiskFails, RepositoryUnavailable

_LOOK_SECONDS = 0.05
AT_ONCE = 4
"""Git processes with large work at once: each may need some hundred MB."""
LAYER = "repo-"
"""The prefix of the names of layers with a commit."""
SETUP = "setup-"
"""The prefix of the names of layers with the result of a setup."""
TOP = ".setup"
"""The folder in /work that belongs to a setup."""
BYTES_FILE = "fettle-bytes"
"""The file in a layer's `.git` or `.setup` with the size of the layer in bytes."""


class Lock:
    """A descriptor that holds a lock, until it is released or dropped."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def release(self) -> None:
        """Release the lock. A second call does nothing."""
        descriptor, self.descriptor = self.descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def touch(self) -> None:
        """Set the time of the last use of the folder to now."""
        os.utime(self.descriptor)

    def __del__(self) -> None:
        self.release()


@dataclass(frozen=True, slots=True)
class RepositoryFolders:
    """The folders below `folder`, which are created at their first use."""

    folder: Path
    turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))
    """Bounds the fetches, unpackings and checkouts of this process at once."""

    @property
    def mirrors(self) -> Path:
        """The folder of mirrors."""
        return self._create("mirrors")

    @property
    def layers(self) -> Path:
        """The folder of layers. The user of sandboxes can enter it."""
        return self._create("layers", mode=0o755)

    @property
    def making(self) -> Path:
        """The folder of folders that are being made or removed."""
        return self._create("making")

    @asynccontextmanager
    async def workshop(
        self, name: str | None = None, seconds: float = 0.0
    ) -> AsyncIterator[tuple[Path, Lock]]:
        """An empty, locked folder in `making`. At the end it is removed with its remaining
        contents. A folder with a `name` has one user at a time: this waits for it. Raises
        RepositoryUnavailable after `seconds`, and RepositoryDiskFails."""
        ends_at = time.monotonic() + seconds
        while (lock := try_lock(path := self._folder(name), shared=False)) is None:
            if name is None:
                continue  # another process removed it before it was locked
            if time.monotonic() > ends_at:
                raise RepositoryUnavailable(
                    f"another job has been making this folder for {seconds:g} s; try again"
                )
            await asyncio.sleep(_LOOK_SECONDS)
        try:
            if name is not None:
                await asyncio.to_thread(_empty, path)  # a killed process may have left files
            yield path, lock
        except OSError as error:
            raise RepositoryDiskFails(
                f"this worker's disk cannot store the repository: "
                f"{error.strerror or type(error).__name__}"
            ) from error
        finally:
            await asyncio.to_thread(shutil.rmtree, path, ignore_errors=True)
            lock.release()

    def remove(self, path: Path) -> bool:
        """Remove a mirror or a layer; return False if a process uses it."""
        if (lock := try_lock(path, shared=False)) is None:
            return False
        path = path.rename(self.making / f"{path.name}-{os.urandom(4).hex()}")
        shutil.rmtree(path, ignore_errors=True)
        lock.release()
        return True

    def sweep(self) -> None:
        """Remove the folders in `making` that no process uses."""
        for path in self.making.iterdir():
            if (lock := try_lock(path, shared=False)) is not None:
                shutil.rmtree(path, ignore_errors=True)
                lock.release()

    def _folder(self, name: str | None) -> Path:
        if name is None:
            return Path(tempfile.mkdtemp(dir=self.making))
        path = self.making / name
        path.mkdir(exist_ok=True, mode=0o700)
        return path

    def _create(self, name: str, mode: int = 0o700) -> Path:
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = self.folder / name
        path.mkdir(exist_ok=True)
        if stat.S_IMODE(path.stat().st_mode) != mode:  # independent of the umask of the process
            path.chmod(mode)
        return path


def _empty(folder: Path) -> None:
    for path in folder.iterdir():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()


def try_lock(path: Path, *, shared: bool) -> Lock | None:
    """Lock a file or folder without waiting; None if a process has the lock, or the path does not
    exist."""
    try:
        lock = Lock(os.open(path, os.O_RDONLY))
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(lock.descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        now = path.stat()
        locked = os.fstat(lock.descriptor)
    except (BlockingIOError, FileNotFoundError):
        return None
    # Another process may have removed and created the path before it was locked.
    return lock if (now.st_dev, now.st_ino) == (locked.st_dev, locked.st_ino) else None


@asynccontextmanager
async def wait_for_lock(path: Path, seconds: float) -> AsyncIterator[Lock]:
    """The exclusive lock of a file. Raises RepositoryUnavailable after `seconds`."""
    ends_at = time.monotonic() + seconds
    while (lock := try_lock(path, shared=False)) is None:
        if time.monotonic() > ends_at:
            raise RepositoryUnavailable(
                f"another job has been fetching this repository for {seconds:g} s; try again"
            )
        await asyncio.sleep(_LOOK_SECONDS)
    try:
        yield lock
    finally:
        lock.release()


def use_folder(path: Path) -> Lock | None:
    """The shared lock of a mirror or a layer. Sets the time of its last use; None if it does not
    exist."""
    lock = try_lock(path, shared=True)
    if lock is not None:
        lock.touch()
    return lock


def publish_folder(new: Path, path: Path) -> Lock | None:
    """Give a new folder its name. Returns its shared lock; None if another process was first."""
    use = Lock(os.open(new, os.O_RDONLY))
    fcntl.flock(use.descriptor, fcntl.LOCK_SH)
    use.touch()
    try:
        new.rename(path)
    except OSError as error:
        if error.errno not in {errno.ENOTEMPTY, errno.EEXIST}:
            raise
        return None
    return use


async def sync_layer(layer: Path) -> None:
    """Write a layer to the disk before it gets its name: after a power failure, all layers are
    complete."""
    process = await asyncio.create_subprocess_exec("sync", "--file-system", str(layer))
    await process.wait()


UNUSED_DAYS = 30
_DAY_NS = 24 * 3600 * 10**9
log = structlog.get_logger("worker.repositories.garbage")


class _StoredFolder(NamedTuple):
    """A mirror or a layer."""

    used_at: int
    """The time of its last use, in nanoseconds since 1970."""
    path: Path
    size: int
    """Its bytes. Shared packs count for their mirror."""


def remove_old_folders(folders: RepositoryFolders, most_bytes: int) -> None:
    """Remove the mirrors and layers that no job has used for `UNUSED_DAYS`, the least recently used
    ones if all together have more than `most_bytes`, and the folders of processes that have ended.

    A folder in use stays, even over the limit. Blocks.
    """
    folders.sweep()
    stored = sorted(_stored_folders(folders))
    expired_at = time.time_ns() - UNUSED_DAYS * _DAY_NS
    total = sum(folder.size for folder in stored)
    for folder in stored:
        if total <= most_bytes and folder.used_at > expired_at:
            return
        if folders.remove(folder.path):
            total -= folder.size
            log.info("removed", repository=folder.path.name, bytes=folder.size)
    if total > most_bytes:
        log.warning(
            "repositories in use take more than they may",
            bytes=total,
            most=most_bytes,
            advice="raise FETTLE_REPO_CACHE_BYTES, or lower FETTLE_CONCURRENCY",
        )


def _stored_folders(folders: RepositoryFolders) -> Iterator[_StoredFolder]:
    """The mirrors, and the layers of commits and setups."""
    layers = (path for prefix in (LAYER, SETUP) for path in folders.layers.glob(f"{prefix}*"))
    for path in (*layers, *folders.mirrors.iterdir()):
        with suppress(OSError):  # another process has just removed it
            yield _StoredFolder(path.stat().st_mtime_ns, path, _size_of(path))


def _size_of(path: Path) -> int:
    for folder in (".git", TOP):
        if (file := path / folder / BYTES_FILE).exists():
            return int(file.read_text())
    return sum(child.lstat().st_blocks * 512 for child in path.rglob("*"))

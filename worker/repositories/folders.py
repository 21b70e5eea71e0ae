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
"""Each may take git's memory, some hundred MB for a large repository."""
LAYER = "repo-"
"""Begins the name of a layer of ours."""
SETUP = "setup-"
"""The same for a layer of what a setup left."""
TOP = ".setup"
"""The folder in /work that is a setup's own."""
BYTES_FILE = "fettle-bytes"
"""In a layer's `.git` or `.setup`: how many bytes it takes."""


class Lock:
    """A descriptor that holds a lock, until it is released or dropped."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor

    def release(self) -> None:
        """Give the lock back. Doing it again does nothing."""
        descriptor, self.descriptor = self.descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def touch(self) -> None:
        """Note the time of this use."""
        os.utime(self.descriptor)

    def __del__(self) -> None:
        self.release()


@dataclass(frozen=True, slots=True)
class Places:
    """The folders below `folder`, which are made when they are first wanted. `turns` bounds the
    large works of git (fetch, unpacking, checkout) that this process has at once."""

    folder: Path
    turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(AT_ONCE))

    @property
    def mirrors(self) -> Path:
        """The mirrors."""
        return self._made("mirrors")

    @property
    def layers(self) -> Path:
        """The layers. The user that sandboxes run as outside enters it."""
        return self._made("layers", mode=0o755)

    @property
    def making(self) -> Path:
        """What is being made, and what is being removed."""
        return self._made("making")

    @asynccontextmanager
    async def workshop(
        self, name: str | None = None, seconds: float = 0.0
    ) -> AsyncIterator[tuple[Path, Lock]]:
        """An empty folder in `making`, locked, and removed at the end with what was not moved out
        of it. One with a `name` is one job's at a time, and waited for. Raises
        RepositoryUnavailable at the end of `seconds`, and where the disk is full, or fails."""
        until = time.monotonic() + seconds
        while (lock := tried(path := self._folder(name), shared=False)) is None:
            if name is None:
                continue  # another process swept it up before it was locked
            if time.monotonic() > until:
                raise RepositoryUnavailable(
                    f"another job has been making the same for {seconds:g} s; try again"
                )
            await asyncio.sleep(_LOOK_SECONDS)
        try:
            if name is not None:
                await asyncio.to_thread(_emptied, path)  # a process that was killed left it
            yield path, lock
        except OSError as error:
            raise RepositoryDiskFails(
                f"this worker's disk does not take the repository: "
                f"{error.strerror or type(error).__name__}"
            ) from error
        finally:
            await asyncio.to_thread(shutil.rmtree, path, ignore_errors=True)
            lock.release()

    def remove(self, path: Path) -> bool:
        """Remove a mirror or a layer; False where somebody uses it."""
        if (lock := tried(path, shared=False)) is None:
            return False
        path = path.rename(self.making / f"{path.name}-{os.urandom(4).hex()}")
        shutil.rmtree(path, ignore_errors=True)
        lock.release()
        return True

    def sweep(self) -> None:
        """Remove what processes that are gone left in `making`."""
        for path in self.making.iterdir():
            if (lock := tried(path, shared=False)) is not None:
                shutil.rmtree(path, ignore_errors=True)
                lock.release()

    def _folder(self, name: str | None) -> Path:
        if name is None:
            return Path(tempfile.mkdtemp(dir=self.making))
        path = self.making / name
        path.mkdir(exist_ok=True, mode=0o700)
        return path

    def _made(self, name: str, mode: int = 0o700) -> Path:
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = self.folder / name
        path.mkdir(exist_ok=True)
        if stat.S_IMODE(path.stat().st_mode) != mode:  # whatever the process' umask is
            path.chmod(mode)
        return path


def _emptied(path: Path) -> None:
    for each in path.iterdir():
        if each.is_dir() and not each.is_symlink():
            shutil.rmtree(each, ignore_errors=True)
        else:
            each.unlink()


def tried(path: Path, *, shared: bool) -> Lock | None:
    """The lock of this file or folder at once; None where another has it, or there is none."""
    try:
        lock = Lock(os.open(path, os.O_RDONLY))
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(lock.descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
        at = path.stat()
        held = os.fstat(lock.descriptor)
    except (BlockingIOError, FileNotFoundError):
        return None
    # It may have been removed, and made again, before the lock was had.
    return lock if (at.st_dev, at.st_ino) == (held.st_dev, held.st_ino) else None


@asynccontextmanager
async def locked(path: Path, seconds: float) -> AsyncIterator[Lock]:
    """The exclusive lock of a file, waited for. Raises RepositoryUnavailable at the time's end."""
    until = time.monotonic() + seconds
    while (lock := tried(path, shared=False)) is None:
        if time.monotonic() > until:
            raise RepositoryUnavailable(
                f"another job has been fetching this repository for {seconds:g} s; try again"
            )
        await asyncio.sleep(_LOOK_SECONDS)
    try:
        yield lock
    finally:
        lock.release()


def used(path: Path) -> Lock | None:
    """The shared lock of a mirror or a layer, with the time of this use; None where it is not."""
    lock = tried(path, shared=True)
    if lock is not None:
        lock.touch()
    return lock


def moved(new: Path, path: Path) -> Lock | None:
    """Give what was made its name; the lock of its use, None where another process was first."""
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


async def synced(layer: Path) -> None:
    """On the disk before it appears under its name: a power failure leaves whole layers only."""
    process = await asyncio.create_subprocess_exec("sync", "--file-system", str(layer))
    await process.wait()


KEPT_DAYS = 30
_DAY_NS = 24 * 3600 * 10**9
log = structlog.get_logger("worker.repositories.garbage")


class _Kept(NamedTuple):
    """A mirror or a layer: when it was used, and what it takes. Packs are their mirror's."""

    used: int
    path: Path
    taken: int


def collect(places: Places, most_bytes: int) -> None:
    """Remove what takes more than `most_bytes` together, what no job has used for `KEPT_DAYS`, and
    what processes that are gone left.

    What a process uses stays, over the bound if it must. Blocks: for a thread.
    """
    places.sweep()
    kept = sorted(_stored_folders(places))
    old = time.time_ns() - KEPT_DAYS * _DAY_NS
    taken = sum(each.taken for each in kept)
    for each in kept:
        if taken <= most_bytes and each.used > old:
            return
        if places.remove(each.path):
            taken -= each.taken
            log.info("removed", repository=each.path.name, bytes=each.taken)
    if taken > most_bytes:
        log.warning(
            "repositories in use take more than they may",
            bytes=taken,
            most=most_bytes,
            advice="raise FETTLE_REPO_CACHE_BYTES, or lower FETTLE_CONCURRENCY",
        )


def _stored_folders(places: Places) -> Iterator[_Kept]:
    """Layers that a sandbox has besides are not ours."""
    layers = (each for kind in (LAYER, SETUP) for each in places.layers.glob(f"{kind}*"))
    for path in (*layers, *places.mirrors.iterdir()):
        with suppress(OSError):  # another process has just removed it
            yield _Kept(path.stat().st_mtime_ns, path, _size_of(path))


def _size_of(path: Path) -> int:
    for own in (".git", TOP):
        if (noted := path / own / BYTES_FILE).exists():
            return int(noted.read_text())
    return sum(each.lstat().st_blocks * 512 for each in path.rglob("*"))

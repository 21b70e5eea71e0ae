"""Mirrors: bare repositories of the worker, one for each address or upload, shared by jobs."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from sandbox.protocol import MIB
from settings.repositories import RepositorySettings
from worker.repositories.errors import RepositoryUnavailable
from worker.repositories.folders import (
    Lock,
    RepositoryFolders,
    publish_folder,
    use_folder,
    wait_for_lock,
)
from worker.repositories.git import Git, GitFailed, fault, version
from worker.repositories.refs import Tags

_WORK = ".work"
_LEFT_OVER = ("*.lock", "refs/**/*.lock", "objects/pack/tmp_*", "objects/pack/.tmp-*")
"""Files that a killed git leaves. Its lock files would block git for ever."""
_SPARE_BYTES = 64 * MIB
"""How much larger than the sent bytes a file may be: git completes a pack with base objects."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """The commit that a ref names."""

    commit: str
    tags: Tags | None = None
    """The tags of the origin at the same time; None if the tags of the origin never change."""


class Origin(Protocol):
    """Where a repository comes from."""

    @property
    def name(self) -> str:
        """The name of its mirror, unique for each origin."""
        ...

    async def fill(self, git: Git) -> None:
        """Put the first objects into a new mirror."""
        ...

    async def resolve(self, git: Git, ref: str | None) -> Resolved:
        """The commit that a ref names at present. If `ref` is None, HEAD counts."""
        ...

    async def has_commit(self, git: Git, commit: str, tags: Tags | None) -> bool:
        """Whether the mirror has a complete commit, and exactly these tags of its commits (None:
        any tags)."""
        ...

    async def bring(self, git: Git, commit: str, tags: Tags | None) -> None:
        """Put a commit and these tags into the mirror (None: the origin's present tags)."""
        ...


@dataclass(frozen=True, slots=True)
class Mirror:
    """A mirror that this process uses until the lock `use` is released."""

    folder: Path
    use: Lock
    settings: RepositorySettings
    turns: asyncio.Semaphore

    def git(self, *locks: Lock) -> Git:
        """Git on the mirror. Pass the lock of writers to a git that writes."""
        return process(self.folder, self.settings, *locks)

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[Lock]:
        """The lock of writers: one writer at a time on this machine."""
        async with wait_for_lock(self.folder / _WORK, self.settings.repo_seconds) as lock:
            self._clear()  # a killed process may have left lock files
            try:
                yield lock
            finally:
                self._clear()

    def _clear(self) -> None:
        for pattern in _LEFT_OVER:
            for path in self.folder.glob(pattern):
                path.unlink(missing_ok=True)

    async def ensure(self, origin: Origin, commit: str, tags: Tags | None = None) -> None:
        """Fetch the commit and these tags, if the mirror lacks them. If `tags` is None, a mirror
        that has the commit keeps its tags. Raises RepositoryRefused."""
        if await origin.has_commit(self.git(), commit, tags):
            return
        async with self.writing() as lock:
            git = self.git(lock)
            if not await origin.has_commit(git, commit, tags):
                async with self.turns:
                    await origin.bring(git, commit, tags)


async def open_mirror(
    folders: RepositoryFolders, origin: Origin, settings: RepositorySettings
) -> Mirror:
    """The mirror of the origin; created if this machine has none. Raises RepositoryRefused."""
    folder = folders.mirrors / origin.name
    while (use := use_folder(folder)) is None:
        if (reason := fault(await asyncio.to_thread(version))) is not None:
            raise RepositoryUnavailable(f"this worker cannot use repositories: {reason}")
        async with folders.workshop() as (workshop, lock):
            new = workshop / "new"
            git = process(new, settings, lock)
            try:
                await git.run("init", "--quiet", "--bare", "--template=", "--initial-branch=main")
            except GitFailed as error:
                raise RepositoryUnavailable(
                    f"no repository can be created: {error.message}"
                ) from None
            (new / _WORK).touch()
            async with folders.turns:
                await origin.fill(git)
            if (use := publish_folder(new, folder)) is not None:
                break
    return Mirror(folder, use, settings, folders.turns)


@asynccontextmanager
async def open_scratch(folders: RepositoryFolders, *mirrors: Mirror) -> AsyncIterator[Git]:
    """Git on a new bare repository that reads the objects of the mirrors. It is removed at the
    end."""
    async with folders.workshop() as (workshop, lock):
        folder = workshop / "scratch"
        await asyncio.to_thread(_make_scratch, folder, [mirror.folder for mirror in mirrors])
        yield process(folder, mirrors[0].settings, lock)


def _make_scratch(folder: Path, mirrors: Sequence[Path]) -> None:
    for part in ("objects/info", "objects/pack", "refs/heads", "info"):
        (folder / part).mkdir(parents=True)
    (folder / "HEAD").write_text("ref: refs/heads/none\n")
    (folder / "config").write_text("[core]\n\trepositoryformatversion = 0\n\tbare = true\n")
    (folder / "objects" / "info" / "alternates").write_bytes(
        b"".join(os.fsencode(mirror / "objects") + b"\n" for mirror in mirrors)
    )
    shallow = [file.read_bytes() for mirror in mirrors if (file := mirror / "shallow").exists()]
    if shallow:
        (folder / "shallow").write_bytes(b"".join(shallow))


def process(folder: Path, settings: RepositorySettings, *locks: Lock) -> Git:
    """Git within the limits of the settings. It keeps the locks as long as it runs."""
    descriptors = tuple(lock.descriptor for lock in locks)
    return Git(folder, settings.repo_seconds, settings.repo_bytes + _SPARE_BYTES, descriptors)

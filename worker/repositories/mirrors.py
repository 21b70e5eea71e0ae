"""Mirrors: bare repositories of ours, one for each address or upload, shared by jobs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from sandbox.protocol import MIB
from settings.repositories import RepositorySettings
from worker.repositories.errors import RepositoryUnavailable
from worker.repositories.folders import Lock, Places, locked, moved, used
from worker.repositories.git import Git, GitFailed, fault, version
from worker.repositories.refs import Tags

_WORK = ".work"
_LEFT_OVER = ("*.lock", "refs/**/*.lock", "objects/pack/tmp_*", "objects/pack/.tmp-*")
"""What a git that was ended leaves; a lock file of these would stop the next one for ever."""
_SPARE_BYTES = 64 * MIB
"""Of a file, over what may be sent: git adds to a pack what its objects are differences to."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """A commit, and the tags that the origin had when it was asked; None if the mirror has all tags
    from its beginning."""

    commit: str
    tags: Tags | None = None


class Origin(Protocol):
    """Where a repository comes from."""

    @property
    def name(self) -> str:
        """The name of its mirror: another one for each origin."""
        ...

    async def fill(self, git: Git) -> None:
        """Put into a new mirror what belongs there from its beginning."""
        ...

    async def resolve(self, git: Git, ref: str | None) -> Resolved:
        """The commit that a ref names now; None: HEAD."""
        ...

    async def has(self, git: Git, commit: str, tags: Tags | None) -> bool:
        """Whether the mirror has all of a commit, and exactly these tags of its commits. None: any
        tags."""
        ...

    async def bring(self, git: Git, commit: str, tags: Tags | None) -> None:
        """Put a commit into the mirror that lacks it, and these tags. None: ask the origin for its
        tags."""
        ...


@dataclass(frozen=True, slots=True)
class Mirror:
    """A mirror that this process uses, as long as it holds `use`."""

    folder: Path
    use: Lock
    settings: RepositorySettings
    turns: asyncio.Semaphore

    def git(self, *locks: Lock) -> Git:
        """Git on it. One that writes gets the lock of writers."""
        return process(self.folder, self.settings, *locks)

    @asynccontextmanager
    async def writing(self) -> AsyncIterator[Lock]:
        """One writer at a time, over all processes of this machine."""
        async with locked(self.folder / _WORK, self.settings.repo_seconds) as lock:
            self._clear()  # what a process left that was killed
            try:
                yield lock
            finally:
                self._clear()

    def _clear(self) -> None:
        for pattern in _LEFT_OVER:
            for path in self.folder.glob(pattern):
                path.unlink(missing_ok=True)

    async def ensure(self, origin: Origin, commit: str, tags: Tags | None = None) -> None:
        """The mirror has the commit afterwards, and these tags of its commits. If `tags` is None, a
        mirror that has the commit keeps its tags. Raises RepositoryRefused."""
        if await origin.has(self.git(), commit, tags):
            return
        async with self.writing() as lock:
            git = self.git(lock)
            if not await origin.has(git, commit, tags):
                async with self.turns:
                    await origin.bring(git, commit, tags)


async def opened(places: Places, origin: Origin, settings: RepositorySettings) -> Mirror:
    """The origin's mirror, made where this machine has none. Raises RepositoryRefused."""
    folder = places.mirrors / origin.name
    while (use := used(folder)) is None:
        if (wrong := fault(await asyncio.to_thread(version))) is not None:
            raise RepositoryUnavailable(f"this worker cannot use repositories: {wrong}")
        async with places.workshop() as (workshop, lock):
            new = workshop / "new"
            git = process(new, settings, lock)
            try:
                await git.run("init", "--quiet", "--bare", "--template=", "--initial-branch=main")
            except GitFailed as error:
                raise RepositoryUnavailable(f"no repository can be made: {error.said}") from None
            (new / _WORK).touch()
            async with places.turns:
                await origin.fill(git)
            if (use := moved(new, folder)) is not None:
                break
    return Mirror(folder, use, settings, places.turns)


def process(folder: Path, settings: RepositorySettings, *locks: Lock) -> Git:
    """Git by the settings' bounds. It keeps the locks for as long as it runs."""
    held = tuple(lock.descriptor for lock in locks)
    return Git(folder, settings.repo_seconds, settings.repo_bytes + _SPARE_BYTES, held)

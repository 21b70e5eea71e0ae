"""Uploads: a repository that came with the job, as a git bundle."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from settings.repositories import RepositorySettings
from worker.repositories.errors import RepositoryRefused, printable
from worker.repositories.git import Git, GitFailed
from worker.repositories.mirrors import Resolved
from worker.repositories.origins import bundles
from worker.repositories.origins.refs import HEAD, HEX, candidates
from worker.repositories.origins.tags import Tags

Upload = Callable[[], Awaitable[bytes]]
"""Loads the bundle: called only where this machine lacks its mirror."""
_NAMES_SHOWN = 10


@dataclass(frozen=True, slots=True)
class UploadOrigin:
    """Implements Origin. `digest` is the bundle's sha256."""

    digest: str
    upload: Upload
    settings: RepositorySettings

    @property
    def name(self) -> str:
        """See Origin."""
        return f"upload-{self.digest[:40]}"

    async def fill(self, git: Git) -> None:
        """See Origin."""
        content = await self.upload()
        if len(content) > self.settings.repo_bytes:
            raise RepositoryRefused(
                f"the git bundle has {len(content)} bytes; a repository has at most "
                f"{self.settings.repo_bytes} (FETTLE_REPO_BYTES)"
            )
        await bundles.unpack(git, content)

    async def resolve(self, git: Git, ref: str | None) -> Resolved:
        """See Origin."""
        names = candidates(ref)
        if ref is None or names == (HEAD,):
            return Resolved(await self._head(git))
        for name in (*names, *([ref] if HEX.fullmatch(ref) else [])):
            if (commit := await _commit(git, name)) is not None:
                return Resolved(commit)
        raise RepositoryRefused(
            f"the upload has no branch, tag or commit {ref!r}; it has {await _names(git)}"
        )

    async def has(self, git: Git, commit: str, tags: Tags | None) -> bool:  # noqa: ARG002
        """See Origin. The tags of an upload do not change."""
        return await _commit(git, commit) == commit

    async def bring(self, git: Git, commit: str, tags: Tags | None) -> None:  # noqa: ARG002
        """See Origin. An upload never gets further commits."""
        raise RepositoryRefused(f"the upload has no commit {commit}")

    async def _head(self, git: Git) -> str:
        if (commit := await _commit(git, bundles.HEAD)) is not None:
            return commit
        branches = await _listed(git, "--format=%(refname)", "refs/heads")
        if len(branches) == 1 and (commit := await _commit(git, branches[0])) is not None:
            return commit
        raise RepositoryRefused(
            f"the upload has no HEAD: name a branch, a tag or a commit of {await _names(git)}"
        )


async def _commit(git: Git, name: str) -> str | None:
    asked = ("rev-parse", "--quiet", "--verify", "--end-of-options", f"{name}^{{commit}}")
    try:
        return (await git.run(*asked)).decode().strip()
    except GitFailed:
        return None


async def _names(git: Git) -> str:
    names = await _listed(git, "--format=%(refname:short)", "refs/heads", "refs/tags")
    more = ", ..." if len(names) > _NAMES_SHOWN else ""
    return ", ".join(map(printable, names[:_NAMES_SHOWN])) + more or "none"


async def _listed(git: Git, *asked: str) -> list[str]:
    """The lines of `git for-each-ref`. A name may have bytes that are not UTF-8."""
    return os.fsdecode(await git.run("for-each-ref", *asked)).split("\n")[:-1]

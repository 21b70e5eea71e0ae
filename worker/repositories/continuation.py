"""The start of a job on an earlier change of its repository: of a rebase, and of a follow-up.

The change is merged onto a commit that the host has now. The first attempt chooses the commit and
records it: see `jobs.model.record.Continuation` and ADR 97.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial

from agents.paths import is_in_setup
from jobs.blobs.directory import Blobs
from jobs.blobs.manifest import Manifest, load, store_files
from jobs.model.record import Continuation, JobRecord
from jobs.model.spec import EarlierChange, Repo
from worker.adapters.base import nameable, special_mode
from worker.adapters.workspace import ManifestWorkspace, request_files
from worker.repositories.base import CommitBase
from worker.repositories.errors import RepositoryRefused
from worker.repositories.git import Git
from worker.repositories.merges import Merged, merge_commits
from worker.repositories.patches import open_bundle, tip
from worker.repositories.refs import merge_base
from worker.repositories.source import Repositories
from worker.repositories.upload import Upload

MAX_CONFLICTS = 40


@dataclass(frozen=True, slots=True)
class Begun:
    """The start of a job."""

    workspace: str
    """The digest of the job's first workspace."""
    continues: Continuation | None
    """None: the repository has the full change already, so the job continues no change."""


@dataclass(frozen=True, slots=True)
class _Choice:
    """A commit that the job can work on."""

    commit: str
    merged: Merged
    """The earlier change, merged onto the commit."""
    root: str
    """See `Continuation.root`."""
    branch: str | None = None
    """The branch of the host with this commit, if a delivery adds a commit to the branch."""


@dataclass(frozen=True, slots=True)
class Beginning:
    """The choice of a start. Its methods raise RepositoryRefused."""

    record: JobRecord
    repositories: Repositories
    blobs: Blobs
    change: EarlierChange
    carried: str | None
    """The digest of a workspace: the job starts with the files of it that git ignores, because no
    change has them. None: no files."""

    async def choose(self) -> Begun:
        """Choose the commit, and merge the change onto it."""
        repo, tenant = self._repo, self.record.tenant
        target = await self.repositories.commit(repo, self._upload(repo.bundle), tenant)
        head = await self._find_head()
        async with self._open_change(target, head) as git:
            choice = await self._choose_commit(git, target, head)
        base = await self.repositories.base(repo, choice.commit, self._upload(repo.bundle), tenant)
        try:
            workspace = await self._store_workspace(base, choice.merged)
            await self._check_delivered(base, choice.merged, workspace)
        finally:
            base.release()
        if choice.branch is None and choice.merged.is_empty:
            return Begun(workspace, None)
        conflicts = _first_conflicts(choice.merged.conflicts)
        return Begun(
            workspace,
            Continuation(
                self.change,
                workspace,
                target,
                choice.root,
                choice.branch,
                merged=not choice.merged.is_empty,
                conflicts=conflicts,
            ),
        )

    async def _choose_commit(self, git: Git, target: str, head: str | None) -> _Choice:
        """Choose the target if it has all changes of the branch. Otherwise choose the branch's head
        if the host has the branch. Otherwise choose the target, and merge all changes of the branch
        onto it. A rebase of a change that the branch has moves all changes of the branch to the
        target."""
        change = self.change
        commit = tip(await self.blobs.get(change.bundle))
        start = change.work_base
        if start != change.base and (await merge_commits(git, start, target, change.base)).is_empty:
            start = change.base  # the target has the earlier changes of the branch
        on_target = await merge_commits(git, start, target, commit)
        if head is not None and not on_target.is_empty:
            on_head = await merge_commits(git, change.base, head, commit)
            if not self._is_rebase or not on_head.is_empty:
                root = await merge_base(git, target, head) or change.work_base
                return _Choice(head, self._check_names(on_head), root, change.branch)
        if self._is_rebase:
            self._check_rebase(target, head, on_target)
        return _Choice(target, self._check_names(on_target), target)

    def _check_rebase(self, target: str, head: str | None, merged: Merged) -> None:
        lacks_branch = self.change.branch is not None and head is None
        if target == self.change.work_base and not lacks_branch:
            raise RepositoryRefused(
                f"{self._ref} is still at {target[:12]}, the commit of the change of job "
                f"{self.change.job_id}: there is nothing to rebase"
            )
        if merged.is_empty:
            raise RepositoryRefused(
                f"{self._ref} already has the full change of job {self.change.job_id}, at "
                f"{target[:12]}: nothing is left to rebase"
            )

    def _check_names(self, merged: Merged) -> Merged:
        paths = (*merged.files, *merged.links, *merged.removed)
        if unnameable := [path for path in paths if not nameable(path)]:
            raise RepositoryRefused(
                f"{self._ref} has renamed a file of the change to {unnameable[0][:80]!r}, which no "
                "job can name: merge the change with git"
            )
        return merged

    async def _check_delivered(self, base: CommitBase, merged: Merged, digest: str) -> None:
        """Refuse a merge that has more than a job can deliver. Only commits of persons have that,
        or the repository now ignores a file of the change."""
        workspace = await ManifestWorkspace.on_commit(self.blobs, digest, base)
        delivered = await workspace.delivered_paths()
        undelivered = {*merged.files, *merged.links}.difference(delivered) | merged.submodules
        if undelivered:
            raise RepositoryRefused(
                f"no job can carry {min(undelivered)[:80]!r} to {base.commit[:12]}: it is a "
                "submodule, a pointer of Git LFS, a file that git ignores, or a link that leads "
                f"out of the repository. Merge the change of job {self.change.job_id} with git"
            )

    async def _find_head(self) -> str | None:
        """The commit of the change's branch at the host; None if the host has no such branch."""
        if self.change.branch is None or self._repo.url is None:
            return None
        tenant = self.record.tenant
        return await self.repositories.find_branch(self._repo, self.change.branch, tenant)

    @asynccontextmanager
    async def _open_change(self, target: str, head: str | None) -> AsyncIterator[Git]:
        """Git on a scratch repository with the change, its base commits, and the commits that the
        change can be merged onto. An upload may lack the base commits of a change of an earlier
        upload."""
        repo, tenant, change = self._repo, self.record.tenant, self.change
        upload = self._upload(repo.bundle)
        onto = [commit for commit in (target, head) if commit is not None]
        bases = (change.work_base, change.base)
        earlier = Repo(bundle=change.upload) if change.upload else repo
        bundle = await self.blobs.get(change.bundle)
        mirrors = [await self.repositories.open_mirror(repo, onto, upload, tenant)]
        try:
            mirrors.append(
                await self.repositories.open_mirror(
                    earlier, bases, self._upload(earlier.bundle), tenant
                )
            )
            async with open_bundle(self.repositories.folders, bundle, *mirrors) as git:
                yield git
        finally:
            for mirror in mirrors:
                mirror.use.release()

    async def _store_workspace(self, base: CommitBase, merged: Merged) -> str:
        """The digest of a workspace with the merged files, the carried files that git ignores, and
        the files of the request. A rebase has the request of its parent, and only its ignored files
        are not in the change."""
        carried = (await load(self.blobs, self.carried)).files
        contents = {
            path: await self.blobs.get(entry.digest)
            for path, entry in carried.items()
            if not is_in_setup(path)
        }
        ignored = await base.ignored(contents, frozenset())
        files = {path: carried[path] for path in ignored}
        for path, entry in (await store_files(self.blobs, merged.files)).items():
            mode = special_mode(
                base.entries.get(path), merged.files[path], path in merged.executable
            )
            files[path] = entry._replace(executable=mode)
        start = Manifest(files, merged.removed, base.commit, merged.links)
        if not self._is_rebase:
            requested = await load(self.blobs, self.record.spec.workspace)
            start = start.with_files(request_files(requested, base), frozenset())
        return await self.blobs.put(start.dump())

    def _upload(self, bundle: str | None) -> Upload | None:
        return partial(self.blobs.get, bundle) if bundle else None

    @property
    def _repo(self) -> Repo:
        repo = self.record.spec.repo
        assert repo is not None  # noqa: S101 - the job continues a change of a repository
        return repo

    @property
    def _is_rebase(self) -> bool:
        return self.record.spec.rebase is not None

    @property
    def _ref(self) -> str:
        return f"{self._repo.ref or 'HEAD'} of {self._repo.url or 'the upload'}"


def _first_conflicts(conflicts: tuple[str, ...]) -> tuple[str, ...]:
    more = len(conflicts) - MAX_CONFLICTS
    return (*conflicts[:MAX_CONFLICTS], *([f"and {more} more"] if more > 0 else []))

"""The start of a job that rebases an approved change: the change, merged onto the new commit."""

from __future__ import annotations

from dataclasses import dataclass, replace

from agents.ports.repository import Rebased
from jobs.blobs.directory import Blobs
from jobs.blobs.manifest import FileEntry, Manifest, load
from jobs.model.record import JobRecord
from jobs.model.spec import EarlierChange, Repo
from worker.adapters.base import nameable, special_mode
from worker.repositories.base import CommitBase
from worker.repositories.errors import RepositoryRefused
from worker.repositories.merges import Merged
from worker.repositories.source import Repositories

MAX_CONFLICTS = 40


@dataclass(frozen=True, slots=True)
class Begun:
    """The start of a rebase."""

    workspace: str
    """The digest of the job's first workspace."""
    facts: Rebased
    """The facts of the rebase for prompts."""


async def begin_rebase(record: JobRecord, repositories: Repositories, blobs: Blobs) -> Begun:
    """Merge the change of the job onto the commit of its ref. All attempts give the same result:
    the first attempt that records a workspace chooses the commit.

    Raises worker.repositories.errors.RepositoryRefused, also if there is nothing to rebase.
    """
    repo, change = record.spec.repo, record.spec.rebase
    assert repo is not None and change is not None  # noqa: PT018, S101 - it is a rebase
    commit = (await load(blobs, record.workspace)).base or await repositories.commit(
        repo, tenant=record.tenant
    )
    if commit == change.base:
        raise RepositoryRefused(
            f"{_ref_of(repo)} is still at {commit[:12]}, the commit of the change of job "
            f"{change.job_id}: there is nothing to rebase"
        )
    await repositories.commit(replace(repo, ref=change.base), tenant=record.tenant)
    base = await repositories.base(repo, commit, tenant=record.tenant)
    merged = await _merged(base, repo, change, await blobs.get(change.bundle))
    workspace = await _workspace(record, base, merged, blobs)
    return Begun(workspace, Rebased(change.base, _first_conflicts(merged.conflicts)))


async def _merged(base: CommitBase, repo: Repo, change: EarlierChange, bundle: bytes) -> Merged:
    merged = await base.merge_change(change.base, bundle)
    if not (merged.files or merged.links or merged.removed or merged.conflicts):
        raise RepositoryRefused(
            f"{_ref_of(repo)} already has the full change of job {change.job_id}, at "
            f"{base.commit[:12]}: nothing is left to rebase"
        )
    if unnameable := [
        path for path in (*merged.files, *merged.links, *merged.removed) if not nameable(path)
    ]:
        raise RepositoryRefused(
            f"{_ref_of(repo)} has renamed a file of the change to {unnameable[0][:80]!r}, which no "
            "job can name: rebase it with git"
        )
    return merged


async def _workspace(record: JobRecord, base: CommitBase, merged: Merged, blobs: Blobs) -> str:
    """The digest of a workspace with the merged files, and with the files of the task that git
    ignores: no change has them."""
    requested = (await load(blobs, record.spec.workspace)).files
    contents = {path: await blobs.get(entry.digest) for path, entry in requested.items()}
    ignored = await base.ignored(contents, frozenset())
    files = {path: requested[path] for path in ignored}
    for path, content in merged.files.items():
        mode = special_mode(base.entries.get(path), content, path in merged.executable)
        files[path] = FileEntry(await blobs.put(content), len(content), mode)
    return await blobs.put(Manifest(files, merged.removed, base.commit, merged.links).dump())


def _ref_of(repo: Repo) -> str:
    return f"{repo.ref or 'HEAD'} of {repo.url}"


def _first_conflicts(conflicts: tuple[str, ...]) -> tuple[str, ...]:
    more = len(conflicts) - MAX_CONFLICTS
    return (*conflicts[:MAX_CONFLICTS], *([f"and {more} more"] if more > 0 else []))

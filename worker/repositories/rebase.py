"""What the rebase of an approved change begins with: the change, merged onto the present commit."""

from __future__ import annotations

from dataclasses import dataclass, replace

from agents.ports.repository import Rebased
from jobs.blobs.directory import Blobs
from jobs.blobs.manifest import FileEntry, Manifest, load
from jobs.model.record import JobRecord
from jobs.model.spec import Rebase, Repo
from worker.adapters.base import nameable, special_mode
from worker.repositories.base import Base
from worker.repositories.errors import RepositoryRefused
from worker.repositories.merges import Merged
from worker.repositories.source import Repositories

CONFLICTS_SHOWN = 40


@dataclass(frozen=True, slots=True)
class Begun:
    """The digest of the job's first workspace, and what prompts say of it."""

    workspace: str
    facts: Rebased


async def begun(record: JobRecord, repositories: Repositories, blobs: Blobs) -> Begun:
    """How a job that is a rebase begins. The same in each attempt: the first one that has put a
    workspace on record has chosen the commit.

    Raises worker.repositories.errors.RepositoryRefused, also where nothing is left to do.
    """
    repo, change = record.spec.repo, record.spec.rebase
    assert repo is not None and change is not None  # noqa: PT018, S101 - it is a rebase
    commit = (await load(blobs, record.workspace)).base or await repositories.commit(
        repo, tenant=record.tenant
    )
    if commit == change.base:
        raise RepositoryRefused(
            f"{_named(repo)} is at {commit[:12]} still, where job {change.job_id} made its change: "
            "there is nothing to rebase"
        )
    await repositories.commit(replace(repo, ref=change.base), tenant=record.tenant)
    base = await repositories.base(repo, commit, tenant=record.tenant)
    merged = await _merged(base, repo, change, await blobs.get(change.bundle))
    workspace = await _workspace(record, base, merged, blobs)
    return Begun(workspace, Rebased(change.base, _shown(merged.conflicts)))


async def _merged(base: Base, repo: Repo, change: Rebase, bundle: bytes) -> Merged:
    merged = await base.merged(change.base, bundle)
    if not (merged.files or merged.links or merged.removed or merged.conflicts):
        raise RepositoryRefused(
            f"{_named(repo)} has all of the change of job {change.job_id} already, at "
            f"{base.commit[:12]}: nothing is left to rebase"
        )
    if lost := [
        path for path in (*merged.files, *merged.links, *merged.removed) if not nameable(path)
    ]:
        raise RepositoryRefused(
            f"{_named(repo)} has renamed a file of the change to {lost[0][:80]!r}, which no job "
            "can name: rebase it with git"
        )
    return merged


async def _workspace(record: JobRecord, base: Base, merged: Merged, blobs: Blobs) -> str:
    """The merged files, and those that the task came with and no change has: what git ignores."""
    asked = (await load(blobs, record.spec.workspace)).files
    sent = {path: await blobs.get(entry.digest) for path, entry in asked.items()}
    ignored = await base.ignored(sent, frozenset())
    files = {path: asked[path] for path in ignored}
    for path, content in merged.files.items():
        mode = special_mode(base.entries.get(path), content, path in merged.executable)
        files[path] = FileEntry(await blobs.put(content), len(content), mode)
    return await blobs.put(Manifest(files, merged.removed, base.commit, merged.links).dump())


def _named(repo: Repo) -> str:
    return f"{repo.ref or 'HEAD'} of {repo.url}"


def _shown(conflicts: tuple[str, ...]) -> tuple[str, ...]:
    more = len(conflicts) - CONFLICTS_SHOWN
    return (*conflicts[:CONFLICTS_SHOWN], *([f"and {more} more"] if more > 0 else []))

"""Deliver: push the one commit, then open the one pull request, each only where it is not there.

Nothing of it is kept here between the two: after a crash the next attempt looks at the host again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from jobs.model.record import JobRecord, Push
from settings.repositories import RepositorySettings
from worker.delivery.errors import DeliveryRefused, of_delivery
from worker.delivery.forges import Forge, Request, opened
from worker.delivery.hosts import Target
from worker.delivery.request_text import text, title
from worker.repositories.base import Base
from worker.repositories.errors import RepositoryRefused, RepositoryUnavailable
from worker.repositories.git import Git
from worker.repositories.origins.refs import COMMIT, candidates
from worker.repositories.origins.remote import Listed, RemoteOrigin

_BRANCHES = "refs/heads/"


@dataclass(frozen=True, slots=True)
class Change:
    """An approved change: the bundle with its one `commit`, and the name of its `branch`."""

    branch: str
    commit: str
    bundle: bytes


@dataclass(frozen=True, slots=True)
class Delivering:
    """One attempt's delivery. `check` raises where the job is no longer the attempt's."""

    record: JobRecord
    target: Target
    settings: RepositorySettings
    base: Base
    check: Callable[[], Awaitable[None]]

    async def deliver(self, change: Change, summary: str) -> Push:
        """Deliver it. Raises DeliveryRefused."""
        origin = RemoteOrigin(self.target.site, self.settings)
        with of_delivery():
            async with self.base.unpacked(change.bundle) as git:
                listed = await self._pushed(git, origin, change)
        done = self._noted(change, listed)
        if self.target.forge is None:
            return done
        try:
            await self.check()
            return replace(done, pull_request=await self._request(self.target.forge, done, summary))
        except DeliveryRefused as failed:
            failed.done = done
            raise

    async def _pushed(self, git: Git, origin: RemoteOrigin, change: Change) -> Listed:
        """What the host listed before the push, which is made where the branch is not there."""
        name = f"{_BRANCHES}{change.branch}"
        listed = await origin.listed(git, (name, *candidates(self._ref)))
        if not await self._there(listed, change):
            await self.check()
            try:
                await origin.push(git, change.commit, change.branch)
            except RepositoryUnavailable:
                raise
            except RepositoryRefused:  # an attempt that lost its lease may have been quicker
                if not await self._there(await origin.listed(git, (name,)), change):
                    raise
        return listed

    async def _there(self, listed: Listed, change: Change) -> bool:
        found = listed.objects.get(f"{_BRANCHES}{change.branch}")
        if found not in {None, change.commit}:
            raise DeliveryRefused(
                f"the branch {change.branch} is at {self.target.site.url} already, with another "
                f"commit ({found}): rename or remove it there, then retry the job"
            )
        return found is not None

    def _noted(self, change: Change, listed: Listed) -> Push:
        """What was pushed, and where the branch that it is meant for stands."""
        name, at = _base(listed, self._ref)
        base = name.removeprefix(_BRANCHES) if name else None
        began = self.base.commit
        note = (
            f"{base} is no longer at {began[:12]}, where the job began: merge {change.branch} "
            f"where it was pushed, or `fettle rebase {self.record.id}` carries the change on"
        )
        moved = base is not None and at != began
        return Push(
            change.branch,
            change.commit,
            base=base,
            base_moved=moved,
            note=note if moved else "",
        )

    async def _request(self, forge: Forge, done: Push, summary: str) -> str:
        if done.base is None:
            raise DeliveryRefused(
                f"{self.target.site.url} has no branch {self._ref or 'that is its HEAD'} that the "
                "pull request could be for: name a branch as the job's ref"
            )
        branch, job = done.branch or "", self.record
        said = text(job.id, job.spec.task, summary)
        return await opened(forge, Request(branch, done.base, title(job.spec.task), said))

    @property
    def _ref(self) -> str | None:
        return self.record.spec.repo.ref if self.record.spec.repo else None


def _base(listed: Listed, ref: str | None) -> tuple[str | None, str | None]:
    """The branch that the change is for, by its full name, and its commit: the job's ref where that
    is a branch, HEAD's where it is a tag or a commit; None where it is gone."""
    name = next((each for each in candidates(ref) if each in listed.objects), None)
    if name is not None and name.startswith(_BRANCHES):
        return name, listed.objects[name]
    if name is None and not COMMIT.fullmatch(ref or ""):
        return None, None
    return listed.head, listed.objects.get("HEAD")

"""Pushes an approved change as one commit, and then opens one pull request.

Each step looks at the host first and does only what is missing there. No state is kept between the
steps: after a crash the next attempt looks at the host again.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from agents.errors import StateUnreadable
from agents.ports import Finished
from jobs.blobs.directory import Blobs
from jobs.model.record import JobRecord, Push
from jobs.model.spec import JobSpec
from settings.repositories import ForgeKind, RepositorySettings
from worker.adapters.repository import BRANCH, Delivered
from worker.delivery.forges import Forge, Request, forge_of, opened
from worker.delivery.texts import text, title
from worker.ledger import Ledger
from worker.repositories.base import Base
from worker.repositories.errors import (
    DeliveryRefused,
    DeliveryUnavailable,
    RepositoryRefused,
    RepositoryTooSlow,
    RepositoryUnavailable,
)
from worker.repositories.git import Git
from worker.repositories.hosts import RepositoryHosts, Site
from worker.repositories.patches import tip
from worker.repositories.refs import COMMIT, candidates
from worker.repositories.remote import Listed, RemoteOrigin

SETTING = "FETTLE_DELIVER_HOSTS"
NEEDS_REVIEW = (
    "this deployment delivers only what a person has approved (FETTLE_DELIVER_NEEDS_REVIEW)"
)


@dataclass(frozen=True, slots=True)
class Target:
    """A repository that a change goes to; `forge` only where a pull request is wanted."""

    site: Site
    forge: Forge | None


@dataclass(frozen=True, slots=True)
class DeliveryHosts:
    """`kinds` by host, and port where it is not the scheme's own. `needs_review`: only changes that
    a person has approved are delivered."""

    kinds: Mapping[str, ForgeKind]
    hosts: RepositoryHosts
    needs_review: bool = False

    @classmethod
    def over(cls, settings: RepositorySettings, hosts: RepositoryHosts) -> DeliveryHosts:
        """Those of the settings."""
        rows = (each.partition("=") for each in settings.deliver_hosts)
        kinds = {host.lower(): kind for host, _, kind in rows}
        return cls(kinds, hosts, settings.deliver_needs_review)  # type: ignore[arg-type]

    def target(self, spec: JobSpec, tenant: str) -> Target | None:
        """Where the job's change goes, with the tenant's credentials; None for a job that delivers
        nothing. Raises DeliveryRefused if this worker may not deliver it, and RepositoryRefused."""
        if spec.deliver is None:
            return None
        if spec.repo is None or spec.repo.url is None:
            raise DeliveryRefused("a change is delivered to the repository's url alone")
        if self.needs_review and not spec.review:
            raise DeliveryRefused(f"{NEEDS_REVIEW}: retry the job with a review")
        site = self.hosts.site(spec.repo.url, tenant)
        if (kind := self.kinds.get(site.host)) is None:
            listed = ", ".join(sorted(self.kinds)) or "no host"
            raise DeliveryRefused(
                f"workers deliver nothing to {site.host}: the operator has to list it, as in "
                f"{SETTING}={site.host}=github (or gitlab, or git for branches alone); "
                f"it has {listed}"
            )
        return Target(site, forge_of(kind, site) if spec.deliver.pull_request else None)


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


async def intended(record: JobRecord, ledger: Ledger, blobs: Blobs, delivered: Delivered) -> Change:
    """The change with this patch: as an earlier attempt recorded it, or else as it is now; records
    it then."""
    key = f"delivery|{delivered.patch.digest}"
    entry = await ledger.recall(key)
    if entry is None:
        entry = json.dumps({"branch": f"{BRANCH}{record.id}", "bundle": delivered.bundle}).encode()
        await ledger.record(key, Finished(entry))
    try:
        fields = json.loads(entry)
        branch, digest = fields["branch"], fields["bundle"]
    except (ValueError, TypeError, KeyError) as error:
        raise StateUnreadable(f"journal entry {key}: {type(error).__name__}: {error}") from error
    bundle = await blobs.get(digest)
    return Change(branch, tip(bundle), bundle)


@contextmanager
def of_delivery() -> Iterator[None]:
    """What git says of the host, as a failure of the delivery."""
    try:
        yield
    except (RepositoryUnavailable, RepositoryTooSlow) as error:
        raise DeliveryUnavailable(str(error)) from None
    except RepositoryRefused as error:
        raise DeliveryRefused(str(error)) from None

"""Pushes an approved change as one commit, on a new branch or on the branch that the job continues,
and then opens one pull request.

Each step looks at the host first and does only the missing part there. So the journal keeps only
the commit (`load_or_record_change`): after a crash, the next attempt finds out at the host which
steps are done.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from agents.errors import StateUnreadable
from agents.ports import Finished
from jobs.blobs.directory import Blobs
from jobs.model.credentials import is_person
from jobs.model.record import JobRecord, Push
from jobs.model.spec import JobSpec
from settings.repositories import ForgeKind, RepositorySettings
from worker.adapters.repository import BRANCH, StoredChange
from worker.delivery.forges import Forge, PullRequest, forge_of, open_request
from worker.delivery.texts import text, title
from worker.ledger import Ledger
from worker.repositories.base import CommitBase
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
from worker.repositories.refs import BRANCHES, COMMIT, candidates
from worker.repositories.remote import Listed, RemoteOrigin

SETTING = "FETTLE_DELIVER_HOSTS"
NEEDS_REVIEW = (
    "this deployment delivers only what a person has approved (FETTLE_DELIVER_NEEDS_REVIEW)"
)


@dataclass(frozen=True, slots=True)
class RemoteBranch:
    """The repository of the branch."""

    site: Site
    forge: Forge | None
    """None if the job wants no pull request."""


@dataclass(frozen=True, slots=True)
class DeliveryHosts:
    """The hosts that changes may be delivered to."""

    kinds: Mapping[str, ForgeKind]
    """The kinds of forges by host, with the port if it is not the default port."""
    hosts: RepositoryHosts
    needs_review: bool = False
    """Whether only changes that a person has approved are delivered."""

    @classmethod
    def from_settings(cls, settings: RepositorySettings, hosts: RepositoryHosts) -> DeliveryHosts:
        """The hosts of the settings."""
        rows = (row.partition("=") for row in settings.deliver_hosts)
        kinds = {host.lower(): kind for host, _, kind in rows}
        return cls(kinds, hosts, settings.deliver_needs_review)  # type: ignore[arg-type]

    def target(self, spec: JobSpec, tenant: str) -> RemoteBranch | None:
        """The repository of the job's branch, with the tenant's credentials; None if the job
        delivers nothing. Raises DeliveryRefused if this worker may not deliver it, and
        RepositoryRefused."""
        if spec.deliver is None:
            return None
        if spec.repo is None or spec.repo.url is None:
            raise DeliveryRefused("a change can only be delivered to the url of its repository")
        if self.needs_review and not spec.review:
            raise DeliveryRefused(f"{NEEDS_REVIEW}: retry the job with a review")
        site = self.hosts.site(spec.repo.url, tenant)
        if (kind := self.kinds.get(site.host)) is None:
            hosts = ", ".join(sorted(self.kinds)) or "no host"
            raise DeliveryRefused(
                f"workers deliver nothing to {site.host}: the operator must list it, as in "
                f"{SETTING}={site.host}=github (or gitlab, or git for branches alone); "
                f"the list has {hosts}"
            )
        return RemoteBranch(site, forge_of(kind, site) if spec.deliver.pull_request else None)

    def check_target(self, spec: JobSpec, tenant: str) -> None:
        """Raise DeliveryRefused or RepositoryRefused if this worker may not deliver the job."""
        self.target(spec, tenant)

    def reason_against(self, job_id: str, approved_by: str | None) -> str | None:
        """Why a change with this approval is not delivered; None if it is."""
        if approved_by is None:
            return "nobody has approved the change"
        if self.needs_review and not is_person(approved_by):
            advice = f"`fettle apply {job_id}` applies the change"
            return f"{approved_by} has approved it, and {NEEDS_REVIEW}; {advice}"
        return None


@dataclass(frozen=True, slots=True)
class ApprovedChange:
    """A change to push."""

    branch: str
    """The name of the branch."""
    commit: str
    bundle: bytes
    """A git bundle with the commit."""
    parent: str | None = None
    """The commit of the host's branch that the change is added to. None: the branch is new."""


@dataclass(frozen=True, slots=True)
class ChangePush:
    """Pushes the change of one attempt."""

    record: JobRecord
    target: RemoteBranch
    settings: RepositorySettings
    base: CommitBase
    check: Callable[[], Awaitable[None]]
    """Raises if the attempt has lost its lease."""

    async def deliver(self, change: ApprovedChange, summary: str) -> Push:
        """Push the change, and open its pull request. Raises DeliveryRefused."""
        origin = RemoteOrigin(self.target.site, self.settings)
        with delivery_errors():
            async with self.base.open_bundle(change.bundle) as git:
                listed = await self._push(git, origin, change)
        done = self._describe(change, listed)
        if self.target.forge is None:
            return done
        try:
            await self.check()
            added = done.commit if change.parent is not None else None
            request = await self._open_request(self.target.forge, done, summary, added)
            return replace(done, pull_request=request)
        except DeliveryRefused as error:
            error.done = done
            raise

    async def _push(self, git: Git, origin: RemoteOrigin, change: ApprovedChange) -> Listed:
        """Push the branch, if the host lacks it; return the refs of the host before the push."""
        name = f"{BRANCHES}{change.branch}"
        listed = await origin.list_refs(git, (name, *candidates(self._ref)))
        if not await self._exists(origin, listed, change):
            await self.check()
            try:
                await origin.push(git, change.commit, change.branch, change.parent)
            except RepositoryUnavailable:
                raise
            except RepositoryRefused:  # an attempt that lost its lease may have pushed it
                listed_again = await origin.list_refs(git, (name,))
                if not await self._exists(origin, listed_again, change):
                    raise
        return listed

    async def _exists(self, origin: RemoteOrigin, listed: Listed, change: ApprovedChange) -> bool:
        """Whether the host's branch has the commit, maybe with commits after it. Raises
        DeliveryRefused if the commit cannot be added to the branch."""
        head = listed.objects.get(f"{BRANCHES}{change.branch}")
        if head == change.parent:
            return False
        if head is not None and (
            head == change.commit or await self.base.follows(origin, head, change.commit)
        ):
            return True
        raise DeliveryRefused(self._explain_move(change, head))

    def _explain_move(self, change: ApprovedChange, head: str | None) -> str:
        url, branch, rebase = self.target.site.url, change.branch, f"fettle rebase {self.record.id}"
        if change.parent is None:
            return (
                f"{url} already has a branch {branch}, with another commit ({head}): rename or "
                "remove it there, then retry the job"
            )
        if head is None:
            return (
                f"{url} no longer has the branch {branch}, which the job continues from "
                f"{change.parent}: `{rebase}` merges the change onto {self._ref or 'HEAD'} and "
                "delivers a new branch"
            )
        return (
            f"{branch} of {url} is at {head}, and no longer at {change.parent}, which the change "
            f"was made on: `{rebase}` merges the change onto {head[:12]} and adds it to the branch"
        )

    def _describe(self, change: ApprovedChange, listed: Listed) -> Push:
        """The pushed branch, and the present commit of the branch that the change is for."""
        name, head = _base_branch(listed, self._ref)
        base = name.removeprefix(BRANCHES) if name else None
        start = continues.target if (continues := self.record.continues) else self.base.commit
        note = (
            f"{base} is no longer at {start[:12]}, where the job began: merge {change.branch} "
            f"at the host, or `fettle rebase {self.record.id}` continues it on the new commit"
        )
        moved = base is not None and head != start
        return Push(
            change.branch,
            change.commit,
            base=base,
            base_moved=moved,
            note=note if moved else "",
        )

    async def _open_request(self, forge: Forge, done: Push, summary: str, added: str | None) -> str:
        """The address of the pull request. `added`: the commit that the job has added to a branch
        with earlier commits."""
        if done.base is None:
            raise DeliveryRefused(
                f"{self.target.site.url} has no branch {self._ref or 'that is its HEAD'} that the "
                "pull request could be for: name a branch as the job's ref"
            )
        branch, job = done.branch or "", self.record
        description = text(job.id, job.spec.task, summary)
        return await open_request(
            forge, PullRequest(branch, done.base, title(job.spec.task), description, added)
        )

    @property
    def _ref(self) -> str | None:
        return self.record.spec.repo.ref if self.record.spec.repo else None


def _base_branch(listed: Listed, ref: str | None) -> tuple[str | None, str | None]:
    """The full name and the commit of the branch that the change is for: the job's ref if it is a
    branch, the branch of HEAD if the ref is a tag or a commit, and None if the ref was deleted."""
    name = next((full_name for full_name in candidates(ref) if full_name in listed.objects), None)
    if name is not None and name.startswith(BRANCHES):
        return name, listed.objects[name]
    if name is None and not COMMIT.fullmatch(ref or ""):
        return None, None
    return listed.head, listed.objects.get("HEAD")


async def load_or_record_change(
    record: JobRecord, ledger: Ledger, blobs: Blobs, stored: StoredChange
) -> ApprovedChange:
    """The change with this patch. An earlier attempt may have recorded it; otherwise record it now,
    so that later attempts deliver the same commit, even if settings change. A retry has the journal
    of its parent: a branch that the parent pushed counts as pushed."""
    continued = record.continues.branch if record.continues else None
    recorded = await _recall_delivery(ledger, stored)
    if recorded is None:
        recorded = continued or f"{BRANCH}{record.id}", stored.bundle
        entry = json.dumps({"branch": recorded[0], "bundle": recorded[1]}).encode()
        await ledger.record(_delivery_key(stored), Finished(entry))
    branch, digest = recorded
    bundle = await blobs.get(digest)
    parent = stored.patch.base if branch == continued else None
    return ApprovedChange(branch, tip(bundle), bundle, parent)


async def with_recorded_commit(ledger: Ledger, stored: StoredChange) -> StoredChange:
    """The change, with the commit that was recorded for its delivery, if one was recorded. The host
    may have this commit: later jobs must not continue from another commit with the same files."""
    recorded = await _recall_delivery(ledger, stored)
    return replace(stored, bundle=recorded[1]) if recorded else stored


async def _recall_delivery(ledger: Ledger, stored: StoredChange) -> tuple[str, str] | None:
    """The recorded branch, and the digest of the recorded bundle; None without a record."""
    key = _delivery_key(stored)
    entry = await ledger.recall(key)
    if entry is None:
        return None
    try:
        fields = json.loads(entry)
        return fields["branch"], fields["bundle"]
    except (ValueError, TypeError, KeyError) as error:
        raise StateUnreadable(f"journal entry {key}: {type(error).__name__}: {error}") from error


def _delivery_key(stored: StoredChange) -> str:
    return f"delivery|{stored.patch.digest}"


@contextmanager
def delivery_errors() -> Iterator[None]:
    """Turn errors of the repository into errors of the delivery."""
    try:
        yield
    except (RepositoryUnavailable, RepositoryTooSlow) as error:
        raise DeliveryUnavailable(str(error)) from None
    except RepositoryRefused as error:
        raise DeliveryRefused(str(error)) from None

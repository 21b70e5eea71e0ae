"""The order of a delivery's steps, with a scripted host and a scripted forge."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import pytest
from support.jobs.job_examples import queued

from agents.errors import Stopped
from jobs.model.record import Continuation, Push
from jobs.model.spec import Deliver, EarlierChange, JobSpec, Repo
from settings.repositories import RepositorySettings
from worker.delivery import push
from worker.delivery.forges import PullRequest
from worker.delivery.push import ApprovedChange, ChangePush
from worker.repositories.errors import (
    DeliveryRefused,
    DeliveryUnavailable,
    RepositoryRefused,
    RepositoryTooSlow,
    RepositoryUnavailable,
)
from worker.repositories.remote import Listed

BEGAN, OURS, OTHER, LATER = "a" * 40, "b" * 40, "c" * 40, "d" * 40
BRANCH = "refs/heads/fettle/j"
CHANGE = ApprovedChange("fettle/j", OURS, b"bundle")
MAIN = {"HEAD": BEGAN, "refs/heads/main": BEGAN}


@dataclass
class Host:
    """The host's lists of refs, in order, and its answer to a push."""

    lists: list[Mapping[str, str]]
    head: str | None = "refs/heads/main"
    declines: Exception | None = None
    done: list[str] = field(default_factory=list)

    def __call__(self, *_: object) -> Host:
        return self

    async def list_refs(self, _git: object, names: tuple[str, ...]) -> Listed:
        self.done.append("look")
        return Listed(self.lists.pop(0), self.head)

    async def push(self, _git: object, commit: str, branch: str, expected: str | None) -> None:
        after = f" after {expected[0]}" if expected else ""
        self.done.append(f"push {commit[0]} {branch}{after}")
        if self.declines is not None:
            raise self.declines


class Forge:
    """Opens requests into `bases`, for `commits`."""

    def __init__(self) -> None:
        self.bases: list[str] = []
        self.commits: list[str | None] = []

    async def find(self, request: PullRequest) -> str | None:
        return f"https://git.test/{self.bases[-1]}" if self.bases else None

    async def create(self, request: PullRequest) -> Any:
        self.bases.append(request.base)
        self.commits.append(request.commit)
        return SimpleNamespace(status=422)


@asynccontextmanager
async def open_bundle(_bundle: bytes) -> AsyncIterator[None]:
    yield None


async def follows(_origin: object, head: str, commit: str) -> bool:
    return (head, commit) == (LATER, OURS)


async def delivered(
    monkeypatch: pytest.MonkeyPatch,
    host: Host,
    ref: str | None = "main",
    forge: Forge | None = None,
    is_deleted: bool = False,
    change: ApprovedChange = CHANGE,
    continues: Continuation | None = None,
) -> Push:
    monkeypatch.setattr(push, "RemoteOrigin", host)
    spec = JobSpec("Fix it", repo=Repo("https://git.test/a", ref), deliver=Deliver())
    target: Any = SimpleNamespace(site=SimpleNamespace(url="https://git.test/a"), forge=forge)
    base: Any = SimpleNamespace(commit=BEGAN, open_bundle=open_bundle, follows=follows)

    async def check() -> None:
        if is_deleted:
            raise Stopped("another has the job")

    record = replace(queued("j"), spec=spec, continues=continues)
    attempt = ChangePush(record, target, RepositorySettings(), base, check)
    return await attempt.deliver(change, "Done.")


async def test_a_branch_that_exists_is_not_pushed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    absent = Host([MAIN])
    there = Host([{**MAIN, BRANCH: OURS}])
    for host, done in ((absent, ["look", "push b fettle/j"]), (there, ["look"])):
        delivery = await delivered(monkeypatch, host)
        assert (host.done, delivery.commit, delivery.base) == (done, OURS, "main")
    with pytest.raises(DeliveryRefused, match=f"another commit .{OTHER}"):
        await delivered(monkeypatch, Host([{**MAIN, BRANCH: OTHER}]))
    followed = Host([{**MAIN, BRANCH: LATER}])
    assert (await delivered(monkeypatch, followed)).commit == OURS
    assert followed.done == ["look"]


async def test_a_commit_is_added_to_the_branch_only_at_its_parent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    head = "e" * 40
    added = replace(CHANGE, branch="fettle/j0", parent=head)
    earlier = EarlierChange("j0", "b" * 64, BEGAN, branch="fettle/j0")
    start = Continuation(earlier, "w" * 64, BEGAN, BEGAN, branch="fettle/j0")
    name = "refs/heads/fettle/j0"

    async def deliver(*lists: Mapping[str, str], declines: Exception | None = None) -> Host:
        host, forge = Host([{**MAIN, **refs} for refs in lists], declines=declines), Forge()
        done = await delivered(monkeypatch, host, forge=forge, change=added, continues=start)
        assert (done.branch, done.commit, done.base_moved) == ("fettle/j0", OURS, False)
        assert forge.commits == [OURS]
        return host

    assert (await deliver({name: head})).done == ["look", "push b fettle/j0 after e"]
    assert (await deliver({name: OURS})).done == ["look"]
    assert (await deliver({name: LATER})).done == ["look"]
    stale = RepositoryRefused("declined the branch: stale info")
    assert (await deliver({name: head}, {name: LATER}, declines=stale)).done[-1] == "look"
    with pytest.raises(DeliveryRefused, match=rf"at {OTHER}, and no longer at {head}.*rebase j`"):
        await deliver({name: head}, {name: OTHER}, declines=stale)
    with pytest.raises(DeliveryRefused, match=f"at {OTHER}, and no longer at {head}"):
        await deliver({name: OTHER})
    with pytest.raises(DeliveryRefused, match=r"no longer has the branch fettle/j0.*onto main"):
        await deliver({})


async def test_a_push_of_another_attempt_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    declined = RepositoryRefused("declined the branch: reference already exists")
    host = Host([MAIN, {BRANCH: OURS}], declines=declined)
    assert (await delivered(monkeypatch, host)).commit == OURS
    assert host.done == ["look", "push b fettle/j", "look"]
    for now, reason in (({}, "already exists"), ({BRANCH: OTHER}, "another commit")):
        with pytest.raises(DeliveryRefused, match=reason):
            await delivered(monkeypatch, Host([MAIN, now], declines=declined))


@pytest.mark.parametrize("error", [RepositoryUnavailable("502"), RepositoryTooSlow("late")])
async def test_an_outage_of_git_is_temporary(
    monkeypatch: pytest.MonkeyPatch, error: RepositoryRefused
) -> None:
    with pytest.raises(DeliveryUnavailable, match=str(error)):
        await delivered(monkeypatch, Host([MAIN, MAIN], declines=error))


@pytest.mark.parametrize(
    ("ref", "listed", "base", "moved"),
    [
        (None, {"HEAD": BEGAN}, "main", False),
        (None, {"HEAD": OTHER}, "main", True),
        ("topic/x", {"HEAD": OTHER, "refs/heads/topic/x": BEGAN}, "topic/x", False),
        ("refs/heads/topic", {"HEAD": BEGAN, "refs/heads/topic": OTHER}, "topic", True),
        ("v1", {"HEAD": OTHER, "refs/tags/v1": BEGAN}, "main", True),
        (BEGAN, {"HEAD": BEGAN}, "main", False),
    ],
)
async def test_the_base_branch_of_a_request(
    monkeypatch: pytest.MonkeyPatch, ref: str | None, listed: dict[str, str], base: str, moved: bool
) -> None:
    forge = Forge()
    delivery = await delivered(monkeypatch, Host([listed]), ref, forge)
    assert (delivery.base, delivery.base_moved, bool(delivery.note)) == (base, moved, moved)
    assert (forge.bases, delivery.pull_request) == ([base], f"https://git.test/{base}")
    assert forge.commits == [None], "a merged request of a new branch is the job's request"


@pytest.mark.parametrize(("ref", "head"), [("gone", "refs/heads/main"), (None, None)])
async def test_without_a_base_branch_no_request_is_opened(
    monkeypatch: pytest.MonkeyPatch, ref: str | None, head: str | None
) -> None:
    forge = Forge()
    with pytest.raises(DeliveryRefused, match="name a branch as the job's ref") as refused:
        await delivered(monkeypatch, Host([{"HEAD": BEGAN}], head), ref, forge)
    assert refused.value.done == Push("fettle/j", OURS)
    assert forge.bases == []
    assert (await delivered(monkeypatch, Host([{"HEAD": BEGAN}], head), ref)).base is None


async def test_an_attempt_without_its_lease_pushes_no_branch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    host, forge = Host([MAIN]), Forge()
    with pytest.raises(Stopped):
        await delivered(monkeypatch, host, is_deleted=True)
    assert host.done == ["look"]
    with pytest.raises(Stopped):
        await delivered(monkeypatch, Host([{**MAIN, BRANCH: OURS}]), forge=forge, is_deleted=True)
    assert forge.bases == []

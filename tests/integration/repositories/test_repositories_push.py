"""A commit is pushed to a host as a new branch, and changes no other ref."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from support.servers.git_repositories import Repository
from support.servers.git_server import GitServer, git_server

from jobs.model.spec import Repo
from settings.repositories import RepositorySettings
from worker.repositories.base import CommitBase
from worker.repositories.errors import RepositoryRefused, RepositoryUnavailable, push_failed
from worker.repositories.patches import tip
from worker.repositories.remote import RemoteOrigin
from worker.repositories.source import Repositories

SIGNED = {"branch": "fettle/j", "message": "x", "author": "A <a@b>", "at": 1}


@pytest.fixture
def forge(tmp_path: Path) -> Iterator[GitServer]:
    with git_server(tmp_path) as server:
        yield server


def open_repositories(
    forge: GitServer, folder: Path, **settings: object
) -> tuple[Repositories, RemoteOrigin]:
    setting_values = {"repo_hosts": (forge.listed,), **settings}
    repositories = Repositories(folder / "kept", RepositorySettings.model_validate(setting_values))
    return repositories, RemoteOrigin(
        repositories.hosts.site(forge.url("project/.git")), repositories.settings
    )


async def load_base(repositories: Repositories, origin: RemoteOrigin) -> CommitBase:
    repo = Repo(url=origin.site.url)
    return await repositories.base(repo, await repositories.commit(repo))


async def push(origin: RemoteOrigin, base_commit: CommitBase, text: bytes = b"2\n") -> str:
    bundle = await base_commit.bundle({"a.txt": text}, frozenset(), **SIGNED)  # type: ignore[arg-type]
    async with base_commit.open_bundle(bundle) as git:
        await origin.push(git, tip(bundle), "fettle/j")
    return tip(bundle)


async def test_a_shallow_mirror_sends_one_commit_although_the_branch_has_moved(
    project: Repository, forge: GitServer, tmp_path: Path
) -> None:
    for number in range(3):
        project.commit({"a.txt": b"%d\n" % number, "large.bin": os.urandom(300_000)})
    repositories, origin = open_repositories(forge, tmp_path, repo_commits=2)
    base_commit = await load_base(repositories, origin)
    project.commit({"later.txt": b"1\n"})
    commit = await push(origin, base_commit)
    assert project.git("rev-parse", "fettle/j") == commit
    assert project.git("log", "--format=%s", "fettle/j").splitlines() == ["x", *["Change"] * 3]
    assert 0 < forge.pushed < 10_000


async def test_a_change_that_is_larger_than_one_request(
    project: Repository, forge: GitServer, tmp_path: Path
) -> None:
    project.commit({"a.txt": b"1\n"})
    repositories, origin = open_repositories(forge, tmp_path)
    large = os.urandom(5_000_000)
    await push(origin, await load_base(repositories, origin), large)
    assert project.raw("show", "fettle/j:a.txt") == large


@pytest.mark.parametrize("theirs", ["main", "main~1"])
async def test_an_existing_branch_is_not_changed(
    project: Repository, forge: GitServer, tmp_path: Path, theirs: str
) -> None:
    """Not even a branch that the new commit follows, which git would move without force."""
    project.commit({"a.txt": b"0\n"})
    project.commit({"a.txt": b"1\n"})
    repositories, origin = open_repositories(forge, tmp_path)
    base_commit = await load_base(repositories, origin)
    project.git("branch", "fettle/j", theirs)
    with pytest.raises(RepositoryRefused, match="declined the branch: stale info"):
        await push(origin, base_commit)
    assert project.git("rev-parse", "fettle/j") == project.git("rev-parse", theirs)


@pytest.mark.parametrize(
    ("status", "passing", "reason"),
    [
        (401, False, "wants a credential"),
        (403, False, "answered 403: the operator's credential may not write"),
        (404, False, "no repository that the operator's credential may write to"),
        (429, True, "could not be reached"),
        (502, True, "could not be reached"),
    ],
)
async def test_refusals_of_a_push_by_a_host(
    project: Repository, forge: GitServer, tmp_path: Path, status: int, passing: bool, reason: str
) -> None:
    project.commit({"a.txt": b"1\n"})
    repositories, origin = open_repositories(forge, tmp_path)
    base_commit = await load_base(repositories, origin)
    for refused in ("GET", "POST"):
        forge.pushing = lambda method, _, at=refused: status if method == at else None
        with pytest.raises(RepositoryRefused, match=reason) as raised:
            await push(origin, base_commit)
        assert isinstance(raised.value, RepositoryUnavailable) == passing


async def test_an_unreachable_host_and_a_host_that_redirects(
    project: Repository, forge: GitServer, tmp_path: Path
) -> None:
    project.commit({"a.txt": b"1\n"})
    repositories, origin = open_repositories(
        forge, tmp_path, repo_hosts=(forge.listed, "http://127.0.0.1:1")
    )
    base_commit = await load_base(repositories, origin)
    closed_origin = replace(origin, site=repositories.hosts.site("http://127.0.0.1:1/project"))
    with pytest.raises(RepositoryUnavailable, match="could not be reached"):
        await push(closed_origin, base_commit)
    forge.redirect = "http://127.0.0.1:1"
    with pytest.raises(RepositoryRefused, match="redirects to another host"):
        await push(origin, base_commit)


@pytest.mark.parametrize(
    ("errors", "reason"),
    [
        (
            f"remote:{' ' * 60_000}\nremote: \x1b[1mNo. \n ! [remote rejected] a -> b (hook (x))\n",
            "hook (x): ?[1mNo.",
        ),
        (f" ! [remote rejected] a -> b ({'(' * 60_000}\n", "(((("),
        (" ! [rejected]        a -> b (stale info)", "stale info"),
    ],
    ids=["spaces", "brackets", "stale"],
)
def test_any_message_of_a_host_is_parsed_quickly(errors: str, reason: str) -> None:
    """The parser runs in the worker's event loop, so all jobs wait for it."""
    started = time.monotonic()
    message = str(push_failed("https://git.test/a", "x", errors))
    assert time.monotonic() - started < 2
    assert message.startswith(f"https://git.test/a declined the branch: {reason}")


@pytest.mark.parametrize(
    "reason",
    [
        "Internal Server Error",
        "fatal error in commit_refs",
        "failed to update ref",
        "cannot lock ref 'refs/heads/fettle/j': Unable to create '/x.lock': File exists.",
        "unpacker error",
        "failed to lock",
    ],
)
def test_a_temporary_fault_of_a_host_is_an_outage(reason: str) -> None:
    errors = f" ! [remote rejected] fettle/j -> fettle/j ({reason})\nerror: failed to push\n"
    assert isinstance(push_failed("https://git.test/a", "x", errors), RepositoryUnavailable)


@pytest.mark.parametrize(
    "words",
    ["Internal API unreachable", "Internal API error (503)", "API is not accessible"],
)
def test_a_failing_hook_of_gitlab_is_an_outage(words: str) -> None:
    declined = " ! [remote rejected] fettle/j -> fettle/j (pre-receive hook declined)\n"
    refusal = push_failed("https://git.test/a", "x", f"remote: GitLab: {words}\n{declined}")
    assert isinstance(refusal, RepositoryUnavailable)


async def test_a_branch_below_a_branch_of_the_host_is_final(
    project: Repository, forge: GitServer, tmp_path: Path
) -> None:
    project.commit({"a.txt": b"1\n"})
    project.git("branch", "fettle")
    repositories, origin = open_repositories(forge, tmp_path)
    with pytest.raises(RepositoryRefused, match="'refs/heads/fettle' exists") as raised:
        await push(origin, await load_base(repositories, origin))
    assert not isinstance(raised.value, RepositoryUnavailable)


@pytest.mark.parametrize(
    "reason",
    [
        "pre-receive hook declined",
        "protected branch hook declined",
        "cannot lock ref 'refs/heads/fettle/j': 'refs/heads/fettle' exists; cannot create it",
    ],
)
def test_a_branch_that_a_host_refuses_is_final(reason: str) -> None:
    errors = f" ! [remote rejected] fettle/j -> fettle/j ({reason})\n"
    refusal = push_failed("https://git.test/a", "x", errors)
    assert isinstance(refusal, RepositoryRefused)
    assert not isinstance(refusal, RepositoryUnavailable)

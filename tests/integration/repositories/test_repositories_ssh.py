"""A repository over ssh: with the operator's key and known hosts, at checked addresses only."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.servers.git_repositories import Repository
from support.servers.ssh_server import SshServer, new_key, ssh_server

from jobs.model.spec import Repo
from settings.repositories import RepositorySettings
from settings.worker import WorkerSettings
from worker.background.announcement import announcement
from worker.repositories.base import CommitBase
from worker.repositories.errors import (
    RepositoriesUnfit,
    RepositoryRefused,
    RepositoryUnavailable,
)
from worker.repositories.patches import tip
from worker.repositories.remote import RemoteOrigin
from worker.repositories.source import Repositories


@pytest.fixture
def host(tmp_path: Path) -> Iterator[SshServer]:
    with ssh_server(tmp_path) as server:
        yield server


def open_repositories(host: SshServer, folder: Path, **settings: object) -> Repositories:
    setting_values = {**host.settings(), **settings}
    return Repositories(folder / "kept", RepositorySettings.model_validate(setting_values))


async def load_base(repositories: Repositories, url: str) -> CommitBase:
    repo = Repo(url=url)
    return await repositories.base(repo, await repositories.commit(repo))


async def refused(
    repositories: Repositories, url: str, ref: str | None = None
) -> RepositoryRefused:
    with pytest.raises(RepositoryRefused) as raised:
        await repositories.commit(Repo(url=url, ref=ref))
    return raised.value


async def push(repositories: Repositories, base_commit: CommitBase, url: str) -> str:
    signed = {"branch": "fettle/j", "message": "x", "author": "A <a@b>", "at": 1}
    bundle = await base_commit.bundle({"a.txt": b"2\n"}, frozenset(), **signed)  # type: ignore[arg-type]
    async with base_commit.open_bundle(bundle) as git:
        await RemoteOrigin(repositories.hosts.site(url), repositories.settings).push(
            git, tip(bundle), "fettle/j"
        )
    return tip(bundle)


async def test_a_branch_a_tag_and_a_commit(
    project: Repository, host: SshServer, tmp_path: Path
) -> None:
    first = project.commit({"a.txt": b"1\n"})
    project.git("tag", "--annotate", "v1", "--message", "Release")
    second = project.commit({"a.txt": b"2\n"})
    repositories, url = open_repositories(host, tmp_path), host.url("project/.git")
    for ref, commit in {None: second, "main": second, "v1": first, first: first}.items():
        assert await repositories.commit(Repo(url=url, ref=ref)) == commit
    assert await (await load_base(repositories, url)).read("a.txt") == b"2\n"
    host.clear_commands()
    again = await repositories.base(Repo(url=url, ref="main"), first)  # as a continued job does
    assert (await again.read("a.txt"), host.commands) == (b"1\n", [])
    secret = host.key.read_bytes().splitlines()[2]
    for path in repositories.folder.rglob("*"):
        assert not path.is_file() or secret not in path.read_bytes()


async def test_a_branch_is_pushed_once_and_an_existing_branch_is_not_changed(
    project: Repository, host: SshServer, tmp_path: Path
) -> None:
    project.commit({"a.txt": b"1\n"})
    repositories, url = open_repositories(host, tmp_path), host.url("project/.git")
    base_commit = await load_base(repositories, url)
    later_commit = project.commit({"later.txt": b"1\n"})
    commit = await push(repositories, base_commit, url)
    assert project.git("rev-parse", "fettle/j") == commit
    project.git("branch", "--force", "fettle/j", later_commit)
    with pytest.raises(RepositoryRefused, match="declined the branch: stale info"):
        await push(repositories, base_commit, url)
    assert project.git("rev-parse", "fettle/j") == later_commit


async def test_the_message_of_a_host_that_refuses_a_push(
    project: Repository, host: SshServer, tmp_path: Path
) -> None:
    project.commit({"a.txt": b"1\n"})
    repositories, url = open_repositories(host, tmp_path), host.url("project/.git")
    base_commit = await load_base(repositories, url)
    host.refuse_with("ERROR: The key you are authenticating with has been marked as read only.\n")
    with pytest.raises(RepositoryRefused, match=r"cannot be pushed to: .*read only") as raised:
        await push(repositories, base_commit, url)
    assert not isinstance(raised.value, RepositoryUnavailable)
    host.refuse_with(None)
    hook = project.folder / ".git" / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho Only Ada may push.\nexit 1\n")
    hook.chmod(0o755)
    with pytest.raises(RepositoryRefused, match="hook declined: Only Ada may push"):
        await push(repositories, base_commit, url)


@pytest.mark.parametrize("case", ["other key", "password", "no key"])
async def test_a_key_that_the_host_refuses(
    project: Repository, host: SshServer, tmp_path: Path, case: str
) -> None:
    project.commit({"a.txt": b"1\n"})
    key = new_key(tmp_path / "other", "s3cret" if case == "password" else "")
    settings = {"repo_credentials": None} if case == "no key" else host.settings(key)
    error = await refused(open_repositories(host, tmp_path, **settings), host.url("project/.git"))
    assert "accepts no key of the operator" in str(error)
    assert "FETTLE_REPO_CREDENTIALS" in str(error)
    assert str(key) not in str(error)
    assert not isinstance(error, RepositoryUnavailable)
    assert host.commands == []


async def test_an_unknown_host_key_and_a_changed_host_key(
    project: Repository, host: SshServer, tmp_path: Path
) -> None:
    project.commit({"a.txt": b"1\n"})
    url = host.url("project/.git")
    unknown = await refused(open_repositories(host, tmp_path, repo_known_hosts=None), url)
    assert "known hosts lacks" in str(unknown)
    host.write_known_hosts(new_key(tmp_path / "of another"))
    changed = await refused(open_repositories(host, tmp_path), url)
    assert "has another host key" in str(changed)
    for error in (unknown, changed):
        assert "FETTLE_REPO_KNOWN_HOSTS" in str(error)
        assert host.authority in str(error)
        assert str(host.known_hosts) not in str(error)
        assert not isinstance(error, RepositoryUnavailable)
    assert host.commands == []


@pytest.mark.parametrize(
    ("before", "words"),
    [
        ("", "ERROR: Repository not found."),
        ("remote:\nremote: ====\n", "ERROR: The project could not be found or you may not view it"),
        ("", "Forgejo: Cannot find repository: ada/app"),
    ],
)
async def test_messages_of_forges_about_a_missing_repository(
    host: SshServer, tmp_path: Path, before: str, words: str
) -> None:
    host.refuse_with(f"{before}{'remote: ' if before else ''}{words}\n{before}")
    error = await refused(open_repositories(host, tmp_path), host.url("project/.git"))
    assert "has no repository for the operator's credential" in str(error)
    assert words in str(error)


async def test_a_missing_repository_branch_or_commit_is_named(
    project: Repository, host: SshServer, tmp_path: Path
) -> None:
    project.commit({"a.txt": b"1\n"})
    repositories, url = open_repositories(host, tmp_path), host.url("project/.git")
    assert "has no repository" in str(await refused(repositories, host.url("none/.git")))
    assert "no branch or tag 'gone'" in str(await refused(repositories, url, "gone"))
    assert "no longer has the commit" in str(await refused(repositories, url, "f" * 40))


async def test_a_server_without_gits_protocol_2(project: Repository, tmp_path: Path) -> None:
    project.commit({"a.txt": b"1\n"})
    project.git("tag", "--annotate", "v1", "--message", "Release")
    second = project.commit({"a.txt": b"2\n"})
    with ssh_server(tmp_path, protocol_2=False) as host:
        repositories, url = open_repositories(host, tmp_path), host.url("project/.git")
        assert await repositories.commit(Repo(url=url)) == second
        assert "AcceptEnv GIT_PROTOCOL" in str(await refused(repositories, url, "v1"))
        pushed = await push(repositories, await load_base(repositories, url), url)
    assert project.git("rev-parse", "fettle/j") == pushed


def _hang_up(listening: socket.socket) -> None:
    listening.accept()[0].close()


async def test_an_unreachable_host_and_a_host_that_hangs_up(
    host: SshServer, tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        silent_url = f"ssh://127.0.0.1:{listening.getsockname()[1]}"
        repositories = open_repositories(
            host, tmp_path, repo_hosts=(silent_url, "ssh://127.0.0.1:1")
        )
        thread = threading.Thread(target=_hang_up, args=(listening,))
        thread.start()
        errors = [
            await refused(repositories, f"{silent_url}/x"),
            await refused(repositories, "ssh://127.0.0.1:1/x"),
        ]
        thread.join()
    for error in errors:
        assert isinstance(error, RepositoryUnavailable)
        assert "could not be reached" in str(error)


async def test_a_fetch_ends_at_the_limit_of_bytes(
    project: Repository, host: SshServer, tmp_path: Path
) -> None:
    project.commit({"a.bin": os.urandom(24 * 2**20)})
    repositories = open_repositories(host, tmp_path, repo_bytes=1_000_000)
    error = await refused(repositories, host.url("project/.git"))
    assert "sent more than 1000000 bytes (FETTLE_REPO_BYTES)" in str(error)
    assert (
        sum(item.stat().st_size for item in repositories.folder.rglob("*") if item.is_file())
        < 2_000_000
    )


async def test_a_fetch_ends_at_the_limit_of_time(
    project: Repository, host: SshServer, tmp_path: Path
) -> None:
    project.commit({"a.txt": b"1\n"})
    host.delay_answers(on=True)
    error = await refused(
        open_repositories(host, tmp_path, repo_seconds=3), host.url("project/.git")
    )
    assert "took longer than 3 s" in str(error)


async def test_an_address_that_is_never_reached(host: SshServer, tmp_path: Path) -> None:
    repositories = open_repositories(host, tmp_path, repo_hosts=("ssh://169.254.169.254",))
    error = await refused(repositories, "ssh://169.254.169.254/x")
    assert "is not public" in str(error)
    assert not isinstance(error, RepositoryUnavailable)


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("ssh://-oProxyCommand=touch%20{mark}/x", "plain name of a user and a host"),
        ("ssh://%2DoProxyCommand=touch%20{mark}/x", "plain name of a user and a host"),
        ("ssh://-l@{place}/x", "plain name of a user and a host"),
        ("ssh://%2Doa@{place}/x", "plain name of a user and a host"),
        ("ssh://$(touch%20{mark})@{place}/x", "plain name of a user and a host"),
        ("ssh://git:s3cret@{place}/x", "no password"),
        ("ssh://git:@{place}/x", "no password"),
        ("ssh://git@{place}/x?y", "no query"),
        ("ssh://git@127.0.0.1/x", "not on the operator's list"),
        ("https://{place}/x", "not on the operator's list"),
        ("git@{place}:x", "begins with https:// or ssh://"),
        ("git+ssh://{place}/x", "begins with https:// or ssh://"),
        ("--upload-pack=touch {mark}", "begins with https:// or ssh://"),
    ],
)
async def test_an_invalid_address_is_never_passed_to_git(
    host: SshServer, tmp_path: Path, url: str, reason: str
) -> None:
    mark = tmp_path / "mark"
    repositories = open_repositories(host, tmp_path)
    error = await refused(repositories, url.format(mark=mark, place=host.authority))
    assert reason in str(error)
    assert "s3cret" not in str(error)
    assert (mark.exists(), host.commands) == (False, [])


@pytest.mark.parametrize(
    "path", ["-x", "--upload-pack=touch%20{mark}", "';touch%20{mark};'", "$(touch%20{mark})", "~-x"]
)
async def test_a_path_is_neither_an_option_nor_a_command(
    host: SshServer, tmp_path: Path, path: str
) -> None:
    mark = tmp_path / "mark"
    user = host.url("").removesuffix(f"{host.root}/")
    await refused(open_repositories(host, tmp_path), f"{user}/{path.format(mark=mark)}")
    assert [item.partition(" ")[0] for item in host.commands] == ["git-upload-pack"]
    assert not mark.exists()


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("ssh://h {folder}/none", "line 2 cannot be read"),
        ("ssh://h {folder}/key.pub", "has no private key"),
        ("ssh://h {folder}/open", "chmod 600"),
        ("ssh://h relative/key", "must be absolute"),
        ('ssh://h {folder}/a" b', "must be absolute"),
        ("ssh://h", "must be absolute"),
        ("h {folder}/key", "HOST USER:TOKEN, or ssh://HOST FILE"),
    ],
)
def test_a_key_that_cannot_be_used_stops_the_worker(tmp_path: Path, line: str, reason: str) -> None:
    key = new_key(tmp_path / "key")
    key.with_suffix(".pub").chmod(0o600)
    (tmp_path / "open").write_bytes(key.read_bytes())
    (tmp_path / "open").chmod(0o644)
    file = tmp_path / "credentials"
    file.write_text(f"# keys\n{line.format(folder=tmp_path)}\n")
    file.chmod(0o600)
    with pytest.raises(RepositoriesUnfit, match=reason) as unfit:
        Repositories(tmp_path, RepositorySettings(repo_credentials=file))
    assert key.read_text().splitlines()[1] not in str(unfit.value)


def test_known_hosts_that_cannot_be_read_stop_the_worker(tmp_path: Path) -> None:
    for name, reason in (("none", "cannot be read"), ("a b", "must be absolute")):
        (tmp_path / "a b").touch()
        with pytest.raises(RepositoriesUnfit, match=f"FETTLE_REPO_KNOWN_HOSTS.*{reason}"):
            Repositories(tmp_path, RepositorySettings(repo_known_hosts=tmp_path / name))


def test_a_worker_announces_missing_keys_and_known_hosts(
    host: SshServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = (
        f"{host.listed},ssh://bare.example.org,ssh://*.wide.example.org,git.example.org,ssh://a:22"
    )
    settings = WorkerSettings.model_validate({**host.settings(), "repo_hosts": listed})
    *lacks, odd = announcement(settings)["repositories"]["lacks"]
    assert "ssh://a:22: ssh://a is not on the operator's list" in odd
    assert lacks == [
        "ssh://bare.example.org: no key (FETTLE_REPO_CREDENTIALS)",
        "ssh://bare.example.org: no line in the file of known hosts (FETTLE_REPO_KNOWN_HOSTS)",
    ]
    monkeypatch.setenv("PATH", str(tmp_path))
    (missing,) = announcement(settings)["repositories"]["lacks"]
    assert "install Debian's package openssh-client" in missing


async def test_a_job_without_ssh_names_the_package_to_install(
    host: SshServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "git").symlink_to("/usr/bin/git")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    error = await refused(open_repositories(host, tmp_path), host.url("project/.git"))
    assert isinstance(error, RepositoryUnavailable)
    assert "install Debian's package openssh-client" in str(error)


async def test_no_other_key_of_this_machine_is_offered(
    project: Repository, host: SshServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a key of an agent, nor a key from this user's configuration."""
    project.commit({"a.txt": b"1\n"})
    monkeypatch.setenv("GIT_SSH_COMMAND", f"ssh -i {host.key}")
    monkeypatch.setenv("GIT_SSH", "/bin/false")
    repositories = open_repositories(host, tmp_path, **host.settings(new_key(tmp_path / "other")))
    assert "accepts no key" in str(await refused(repositories, host.url("project/.git")))

"""A repository on a host: fetched only from listed hosts, with the operator's credential, within
limits.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from support.servers.certificates import self_signed
from support.servers.git_repositories import Repository, create_repository
from support.servers.git_server import GitServer, git_server
from support.servers.web_server import Answer, web_server

from jobs.model.spec import Repo
from settings.repositories import RepositorySettings
from worker.repositories.base import CommitBase
from worker.repositories.credentials import credentials as read_credentials
from worker.repositories.errors import (
    RepositoriesUnfit,
    RepositoryRefused,
    RepositoryUnavailable,
)
from worker.repositories.refs import listed_tags
from worker.repositories.remote import RemoteOrigin
from worker.repositories.source import Repositories

SECRET = "s3cret-token"


@pytest.fixture
def forge(tmp_path: Path) -> Iterator[GitServer]:
    with git_server(tmp_path) as server:
        yield server


def open_repositories(forge: GitServer, folder: Path, **settings: object) -> Repositories:
    values = {"repo_hosts": (forge.listed,), **settings}
    return Repositories(folder / "kept", RepositorySettings.model_validate(values))


async def load_base(repositories: Repositories, url: str, ref: str | None = None) -> CommitBase:
    repo = Repo(url=url, ref=ref)
    return await repositories.base(repo, await repositories.commit(repo))


def credentials(folder: Path, text: str, mode: int = 0o600) -> Path:
    file = folder / "credentials"
    file.write_text(text)
    file.chmod(mode)
    return file


def command_lines() -> list[bytes]:
    """The command lines of all processes of this machine, which every user can read."""
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # the process has ended
            lines.append(path.read_bytes())
    return lines


async def test_a_branch_a_tag_and_a_commit(
    project: Repository, forge: GitServer, tmp_path: Path
) -> None:
    first = project.commit({"a.txt": b"1\n"})
    project.git("tag", "--annotate", "v1", "--message", "Release")
    project.git("branch", "team/topic")
    second = project.commit({"a.txt": b"2\n", "b.bin": bytes(range(256))})
    repositories, url = open_repositories(forge, tmp_path), forge.url("project/.git")
    commits = {
        None: second,
        "HEAD": second,
        "main": second,
        "v1": first,
        "team/topic": first,
        first: first,
    }
    for ref, commit in commits.items():
        assert await repositories.commit(Repo(url=url, ref=ref)) == commit
    commit_base = await load_base(repositories, url)
    assert {path: await commit_base.read(path) for path in commit_base.entries} == {
        "a.txt": b"2\n",
        "b.bin": bytes(range(256)),
    }
    copy = tmp_path / "copy"
    shutil.copytree(repositories.layers / commit_base.layer, copy, symlinks=True)
    assert Repository(copy).git("describe") == f"v1-1-g{second[:7]}"
    assert not [path for path in copy.rglob("*") if forge.authority in str(path)]
    assert forge.authority not in (copy / ".git" / "config").read_text()


async def test_the_last_commits_are_fetched_with_their_tags(
    project: Repository, forge: GitServer, tmp_path: Path
) -> None:
    for number in range(9):
        project.commit({"a.txt": b"%d\n" % number}, f"Number {number}")
        project.git("tag", f"v{number}")
    repositories = open_repositories(forge, tmp_path, repo_commits=3)
    commit_base = await load_base(repositories, forge.url("project/.git"))
    copy = tmp_path / "copy"
    shutil.copytree(repositories.layers / commit_base.layer, copy, symlinks=True)
    layer = Repository(copy)
    assert layer.git("log", "--format=%s").splitlines() == ["Number 8", "Number 7", "Number 6"]
    assert layer.git("tag").split() == ["v6", "v7", "v8"]
    assert layer.git("describe", "--tags") == "v8"
    assert layer.git("status", "--porcelain") == ""
    patch = await commit_base.patch({"a.txt": b"new\n"}, frozenset())
    layer.git("apply", "--index", "-", stdin=patch.content)
    job = await commit_base.bundle(
        {"a.txt": b"new\n"}, frozenset(), branch="fettle/j", message="x", author="A <a@b>", at=1
    )
    (tmp_path / "job.bundle").write_bytes(job)
    project.git("fetch", "--quiet", str(tmp_path / "job.bundle"), "fettle/j:fettle/j")
    assert project.git("show", "fettle/j:a.txt") == "new"


async def describe(repositories: Repositories, url: str, ref: str | None = None) -> str:
    """`git describe` of a job's files at this ref."""
    job = await load_base(repositories, url, ref)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        shutil.copytree(repositories.layers / job.layer, copy, symlinks=True)
        job.release()
        return Repository(copy).git("describe", "--tags", "--always").strip()


async def test_tags_follow_the_host(project: Repository, forge: GitServer, tmp_path: Path) -> None:
    """Tags that were moved, deleted, renamed or added, also for a commit that the mirror has."""
    first = project.commit({"a.txt": b"1\n"})
    project.git("tag", "v1")
    second = project.commit({"a.txt": b"2\n"})
    repositories, url = open_repositories(forge, tmp_path), forge.url("project/.git")
    assert await describe(repositories, url) == f"v1-1-g{second[:7]}"
    project.git("tag", "--force", "v1", second)
    assert await describe(repositories, url) == "v1"
    project.git("tag", "--delete", "v1")
    assert await describe(repositories, url) == second[:7]
    project.git("tag", "--annotate", "--message", "Release", "v2", first)
    assert await describe(repositories, url) == f"v2-1-g{second[:7]}"
    assert await describe(repositories, url, second) == f"v2-1-g{second[:7]}"


@pytest.mark.parametrize("renamed", [("v1", "v1/rc"), ("v1/rc", "v1")])
async def test_a_tag_may_replace_a_folder_of_tags_with_its_name(
    project: Repository, forge: GitServer, tmp_path: Path, renamed: tuple[str, str]
) -> None:
    old, new = renamed
    project.commit({"a.txt": b"1\n"})
    project.git("tag", old)
    repositories, url = open_repositories(forge, tmp_path), forge.url("project/.git")
    assert await describe(repositories, url) == old
    project.git("tag", "--delete", old)
    project.commit({"a.txt": b"2\n"})
    project.git("tag", new)
    assert await describe(repositories, url) == new


async def test_tags_of_all_kinds_with_unusual_names(
    project: Repository, forge: GitServer, tmp_path: Path
) -> None:
    """Thousands of refs to tags, trees and files, with names that are not UTF-8."""
    commit = project.commit({"a.txt": b"1\n"})
    project.git("tag", "--annotate", "--message", "Inner", "inner", commit)
    project.git("tag", "--annotate", "--message", "Outer", "outer", "inner")
    project.git("tag", "tree", "HEAD^{tree}")
    project.git("tag", "--annotate", "--message", "File", "file", "HEAD:a.txt")
    names = ["v@1", "größe", "50%", "a&b;c", "caf\udce9", *(f"n/{each}" for each in range(3_000))]
    created = "".join(f"create refs/tags/{name}\0{commit}\0" for name in names)
    project.git("update-ref", "-z", "--stdin", stdin=os.fsencode(created))
    repositories, url = open_repositories(forge, tmp_path), forge.url("project/.git")
    job = await load_base(repositories, url)
    packed = os.fsdecode((repositories.layers / job.layer / ".git" / "packed-refs").read_bytes())
    assert {f"{commit} refs/tags/{name}" for name in names} <= set(packed.splitlines())
    assert await repositories.commit(Repo(url=url, ref="outer")) == commit
    for name, kind in (("tree", "tree"), ("file", "blob")):
        with pytest.raises(RepositoryRefused, match=f"'{name}' leads to a {kind}") as raised:
            await repositories.commit(Repo(url=url, ref=name))
        assert not isinstance(raised.value, RepositoryUnavailable)
    mirror = Repository(job.mirror.folder)
    assert mirror.git("for-each-ref", "refs/tags") == project.git("for-each-ref", "refs/tags")


@pytest.mark.parametrize("renamed", [("topic", "topic/a"), ("topic/a", "topic")])
async def test_a_branch_may_replace_a_folder_of_branches_with_its_name(
    project: Repository, forge: GitServer, tmp_path: Path, renamed: tuple[str, str]
) -> None:
    old, new = renamed
    project.commit({"a.txt": b"1\n"})
    project.git("branch", old)
    repositories, url = open_repositories(forge, tmp_path), forge.url("project/.git")
    await repositories.commit(Repo(url=url, ref=old))
    project.git("branch", "--delete", old)
    commit = project.commit({"a.txt": b"2\n"})
    project.git("branch", new)
    assert await repositories.commit(Repo(url=url, ref=new)) == commit
    with pytest.raises(RepositoryRefused, match="no branch or tag"):
        await repositories.commit(Repo(url=url, ref=old))


async def test_a_tag_that_is_deleted_during_a_fetch_fails_no_job(
    project: Repository, forge: GitServer, tmp_path: Path
) -> None:
    commit = project.commit({"a.txt": b"1\n"})
    repositories, url = open_repositories(forge, tmp_path), forge.url("project/.git")
    await repositories.commit(Repo(url=url))
    origin = RemoteOrigin(repositories.hosts.site(url), repositories.settings)
    job = await load_base(repositories, url)
    deleted_tag = listed_tags({"refs/tags/gone": commit})
    with pytest.raises(RepositoryUnavailable, match="refs/tags/gone"):
        await job.mirror.ensure(origin, commit, deleted_tag)


async def test_a_host_whose_head_names_a_missing_branch(
    project: Repository, forge: GitServer, tmp_path: Path
) -> None:
    """The default branch was renamed or deleted, but its tags still exist."""
    commit = project.commit({"a.txt": b"1\n"})
    project.git("tag", "v1")
    project.git("branch", "--move", "main", "trunk")
    repositories, url = open_repositories(forge, tmp_path), forge.url("project/.git")
    assert await repositories.commit(Repo(url=url)) == commit
    project.git("symbolic-ref", "HEAD", "refs/heads/gone")
    with pytest.raises(RepositoryRefused, match="no branch that is its HEAD"):
        await repositories.commit(Repo(url=url))
    assert await repositories.commit(Repo(url=url, ref="trunk")) == commit


async def test_a_later_fetch_does_not_truncate_the_history(
    project: Repository, forge: GitServer, tmp_path: Path
) -> None:
    """Git's own fetch with a depth truncates the history of all commits, including earlier ones."""
    project.commit({"a.txt": b"0\n"})
    project.git("tag", "v0")
    first = project.commit({"a.txt": b"1\n"})
    repositories, url = (
        open_repositories(forge, tmp_path, repo_commits=2),
        forge.url("project/.git"),
    )
    await repositories.commit(Repo(url=url))
    project.commit({"a.txt": b"2\n"})
    await repositories.commit(Repo(url=url))
    assert await describe(repositories, url, first) == f"v0-1-g{first[:7]}"


async def test_a_known_commit_is_not_fetched_again_but_a_moved_branch_is(
    project: Repository, forge: GitServer, tmp_path: Path
) -> None:
    project.commit({"a.txt": b"1\n"})
    repositories, url = open_repositories(forge, tmp_path), forge.url("project/.git")
    first = await load_base(repositories, url, "main")
    packs = [request for request in forge.requests if request.startswith("POST")]
    again = await load_base(repositories, url, "main")
    assert again.layer == first.layer
    forge.requests.clear()
    pinned = await repositories.base(Repo(url=url, ref="main"), first.commit)
    assert (pinned.commit, forge.requests) == (first.commit, [])
    second = project.commit({"a.txt": b"2\n"})
    assert await repositories.commit(Repo(url=url, ref="main")) == second
    assert packs


async def test_concurrent_jobs_fetch_once(
    project: Repository, forge: GitServer, tmp_path: Path
) -> None:
    commit = project.commit({f"f{n}.txt": b"1\n" for n in range(50)})
    repositories, url = open_repositories(forge, tmp_path), forge.url("project/.git")
    bases = await asyncio.gather(
        *(repositories.base(Repo(url=url), commit) for _ in range(4)),
        *(open_repositories(forge, tmp_path).base(Repo(url=url), commit) for _ in range(4)),
    )
    assert len({base.layer for base in bases}) == 1
    requests = [request for request in forge.requests if request.startswith("GET")]
    assert len(requests) == 2  # for the commit, and for the list of tags


async def test_a_credential_reaches_its_host_but_no_command_line(
    project: Repository, forge: GitServer, tmp_path: Path
) -> None:
    project.commit({"a.txt": b"1\n"})
    forge.credential = f"me:{SECRET}"
    forge.pause = threading.Event()
    file = credentials(tmp_path, f"# of the team\n\n{forge.authority} me:{SECRET}\n")
    repositories = open_repositories(forge, tmp_path, repo_credentials=file)
    fetching = asyncio.create_task(load_base(repositories, forge.url("project/.git")))
    await asyncio.to_thread(forge.packing.wait, 60)
    lines = command_lines()
    assert any(forge.authority.encode() in line for line in lines)
    assert not any(SECRET.encode() in line for line in lines)
    forge.pause.set()
    await fetching
    for path in repositories.folder.rglob("*"):
        assert not path.is_file() or SECRET.encode() not in path.read_bytes()
    assert SECRET not in repr(repositories)


@pytest.mark.parametrize("line", ["", "other.example me:s3cret-token", "{} me:wrong-s3cret-token"])
async def test_a_wrong_credential(
    project: Repository, forge: GitServer, tmp_path: Path, line: str
) -> None:
    project.commit({"a.txt": b"1\n"})
    forge.credential = "me:right"
    file = credentials(tmp_path, line.format(forge.authority))
    repositories = open_repositories(forge, tmp_path, repo_credentials=file)
    with pytest.raises(RepositoryRefused, match=r"wants a credential.*FETTLE_REPO_CRED") as refused:
        await repositories.commit(Repo(url=forge.url("project/.git")))
    assert SECRET not in str(refused.value)
    assert not isinstance(refused.value, RepositoryUnavailable)


async def test_only_the_tenant_can_use_its_credential_and_the_fetched_files(
    project: Repository, forge: GitServer, tmp_path: Path
) -> None:
    commit = project.commit({"a.txt": b"1\n"})
    forge.credential = f"me:{SECRET}"
    lines = f"[acme]\n{forge.authority} me:{SECRET}\n[wrong]\n{forge.authority} me:other\n"
    repositories = open_repositories(forge, tmp_path, repo_credentials=credentials(tmp_path, lines))
    repo = Repo(url=forge.url("project/.git"))
    commit_base = await repositories.base(
        repo, await repositories.commit(repo, tenant="acme"), tenant="acme"
    )
    assert commit_base.commit == commit
    for tenant in ("default", "wrong", "acme2"):
        with pytest.raises(RepositoryRefused, match="wants a credential"):
            await repositories.commit(repo, tenant=tenant)
        with pytest.raises(RepositoryRefused, match="wants a credential"):  # by its id
            await repositories.commit(replace(repo, ref=commit), tenant=tenant)
        with pytest.raises(RepositoryRefused, match="wants a credential"):
            await repositories.base(repo, commit, tenant=tenant)


async def test_tenants_share_files_fetched_without_a_credential_or_with_a_common_one(
    project: Repository, forge: GitServer, tmp_path: Path
) -> None:
    commit = project.commit({"a.txt": b"1\n"})
    repo = Repo(url=forge.url("project/.git"))
    for lines in ("", f"[*]\n{forge.authority} me:{SECRET}\n"):
        forge.credential = f"me:{SECRET}" if lines else None
        repositories = open_repositories(
            forge, tmp_path, repo_credentials=credentials(tmp_path, lines)
        )
        layers = {
            (await repositories.base(repo, commit, tenant=tenant)).layer
            for tenant in ("acme", "other")
        }
        assert len(layers) == 1
        assert len(list(repositories.folders.mirrors.iterdir())) == (2 if lines else 1)


def test_a_file_of_credentials_has_a_section_for_each_tenant(tmp_path: Path) -> None:
    lines = """\
        a.example me:default
        [::1]:8443 me:address
        [*]
        a.example me:everyones
        B.example me:everyones
        [ acme ]
    """
    with pytest.raises(RepositoriesUnfit, match="line 6: a tenant's name has 1 to 63"):
        read_credentials(credentials(tmp_path, lines), "FETTLE_REPO_CREDENTIALS")
    grants = read_credentials(
        credentials(tmp_path, lines.replace("[ acme ]", "[acme]\na.example me:acme")), "X"
    )
    credentials_by_tenant = {
        tenant: {host: grant.credential for host, grant in grants.of(tenant).items()}
        for tenant in ("default", "acme", "other")
    }
    assert credentials_by_tenant == {
        "default": {
            "a.example": "me:default",
            "[::1]:8443": "me:address",
            "b.example": "me:everyones",
        },
        "acme": {"a.example": "me:acme", "b.example": "me:everyones"},
        "other": {"a.example": "me:everyones", "b.example": "me:everyones"},
    }
    assert "me:" not in repr(grants)
    with pytest.raises(RepositoriesUnfit, match="tenant default has a line for"):
        read_credentials(credentials(tmp_path, "a.example me:x\nA.example me:y\n"), "X")


@pytest.mark.parametrize(
    "line",
    [
        "[acme] # team: acme",
        "[acme]x me:x",
        "[a:b]",
        "https://a.example me:x",
        "a.example/team me:x",
        "me@a.example me:x",
        "*.a.example me:x",
    ],
)
def test_an_invalid_line_of_credentials_is_refused(tmp_path: Path, line: str) -> None:
    """If the header of a section were misread, its credentials would go to the tenant before it."""
    lines = f"b.example me:y\n{line}\nc.example me:z\n"
    with pytest.raises(RepositoriesUnfit, match="line 2: ") as unfit:
        read_credentials(credentials(tmp_path, lines), "X")
    assert "me:" not in str(unfit.value)


def test_a_file_of_credentials_with_byte_order_mark_and_crlf(tmp_path: Path) -> None:
    lines = "\ufeffa.example me:x\r\n[acme]\r\nb.example\tme:y\r\n"
    credentials_by_owner = read_credentials(credentials(tmp_path, lines), "X").by_owner
    assert credentials_by_owner == {"default": {"a.example": "me:x"}, "acme": {"b.example": "me:y"}}


def test_a_file_of_credentials_that_other_users_can_read_is_refused(tmp_path: Path) -> None:
    for text, mode, reason in [
        ("host me:x\n", 0o644, "can be read by other users"),
        ("host x\n", 0o600, "line 1: the line must be HOST USER:TOKEN"),
    ]:
        file = credentials(tmp_path, text, mode)
        with pytest.raises(RepositoriesUnfit, match=reason) as unfit:
            Repositories(tmp_path, RepositorySettings(repo_credentials=file))
        assert "me:x" not in str(unfit.value)
    with pytest.raises(RepositoriesUnfit, match="cannot be read"):
        Repositories(tmp_path, RepositorySettings(repo_credentials=tmp_path / "none"))


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("file:///etc", "begins with https://"),
        ("/etc", "begins with https://"),
        ("ext::sh -c id", "begins with https://"),
        ("ssh://git@{0}/x", "not on the operator's list"),
        ("git@host:x/y.git", "begins with https://"),
        ("--upload-pack=id", "begins with https://"),
        ("http://me:x@{0}/p", "no user name and no password"),
        ("http://{0}/p?private_token=x", "no query"),
        ("https://{0}/p", "not on the operator's list"),
        ("http://127.0.0.1:1/p", "not on the operator's list"),
        ("https://other.example/p", "not on the operator's list"),
        ("https://", "is invalid"),
    ],
)
async def test_an_invalid_or_unlisted_address_is_not_fetched(
    forge: GitServer, tmp_path: Path, url: str, reason: str
) -> None:
    repositories = open_repositories(forge, tmp_path)
    with pytest.raises(RepositoryRefused, match=reason):
        await repositories.commit(Repo(url=url.format(forge.authority)))
    assert forge.requests == []


async def test_without_a_list_of_hosts_no_repository_is_fetched(
    forge: GitServer, tmp_path: Path
) -> None:
    repositories = open_repositories(forge, tmp_path, repo_hosts=())
    with pytest.raises(RepositoryRefused, match=r"fetch no repositories.*upload"):
        await repositories.commit(Repo(url=forge.url("project/.git")))


async def test_a_redirect_to_another_host_is_not_followed(
    project: Repository, forge: GitServer, tmp_path: Path
) -> None:
    """Not even to another listed host, because the credential belongs to the first host."""
    project.commit({"a.txt": b"1\n"})
    with web_server() as other:
        forge.redirect = other.url("/x").removesuffix("/x")
        file = credentials(tmp_path, f"{forge.authority} me:{SECRET}")
        hosts = (forge.listed, f"http://127.0.0.1:{other.port}")
        repositories = open_repositories(forge, tmp_path, repo_hosts=hosts, repo_credentials=file)
        with pytest.raises(RepositoryRefused, match="redirects to another host"):
            await repositories.commit(Repo(url=forge.url("project/.git")))
        assert other.requested_paths == []


async def test_a_repository_that_has_moved_on_its_host_is_found(
    project: Repository, forge: GitServer, tmp_path: Path
) -> None:
    commit = project.commit({"a.txt": b"1\n"})
    forge.moved, forge.credential = {"/old/": "/project/.git/"}, f"me:{SECRET}"
    file = credentials(tmp_path, f"{forge.authority} me:{SECRET}")
    repositories = open_repositories(forge, tmp_path, repo_credentials=file)
    assert (await load_base(repositories, forge.url("old"))).commit == commit


@pytest.mark.parametrize("address", ["169.254.169.254", "0.0.0.0"])
async def test_a_link_local_address_is_never_reached(
    forge: GitServer, tmp_path: Path, address: str
) -> None:
    repositories = open_repositories(forge, tmp_path, repo_hosts=(f"http://{address}",))
    with pytest.raises(RepositoryRefused, match="is not public"):
        await repositories.commit(Repo(url=f"http://{address}/x"))


async def test_a_repository_of_sha_256(forge: GitServer, tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    project = Repository(tmp_path / "project")
    project.git("init", "--quiet", "--object-format=sha256", "--template=")
    project.commit({"a.txt": b"1\n"})
    with pytest.raises(RepositoryRefused, match="by SHA-256"):
        await open_repositories(forge, tmp_path).commit(Repo(url=forge.url("project/.git")))


async def test_a_line_separator_in_a_branch_name_does_not_end_the_line(
    project: Repository, forge: GitServer, tmp_path: Path
) -> None:
    """Any user who can push chooses the name of a branch, and `str.splitlines` splits at these
    characters.
    """
    commit = project.commit({"a.txt": b"1\n"})
    project.git("branch", "x\u2028y/HEAD")
    project.git("branch", "x\u0085y/HEAD")
    assert (
        await open_repositories(forge, tmp_path).commit(Repo(url=forge.url("project/.git")))
        == commit
    )


async def test_a_private_address_requires_a_listed_host_without_wildcard(
    project: Repository, forge: GitServer, tmp_path: Path
) -> None:
    project.commit({"a.txt": b"1\n"})
    url = f"http://any.localhost:{forge.port}/project/.git"
    wide = open_repositories(forge, tmp_path, repo_hosts=(f"http://*.localhost:{forge.port}",))
    with pytest.raises(RepositoryRefused, match=r"not public|is not known"):
        await wide.commit(Repo(url=url))
    assert forge.requests == []


@pytest.mark.parametrize("status", [500, 503, 429])
async def test_a_failure_of_a_forge_is_an_outage(
    forge: GitServer, tmp_path: Path, status: int
) -> None:
    forge.status = status
    with pytest.raises(RepositoryUnavailable, match=f"could not be reached: .*{status}"):
        await open_repositories(forge, tmp_path).commit(Repo(url=forge.url("project/.git")))


async def test_a_refusal_by_a_forge_is_final(forge: GitServer, tmp_path: Path) -> None:
    forge.status = 403
    with pytest.raises(RepositoryRefused, match="answered 403") as refused:
        await open_repositories(forge, tmp_path).commit(Repo(url=forge.url("project/.git")))
    assert not isinstance(refused.value, RepositoryUnavailable)


async def test_an_unreachable_forge_is_an_outage(forge: GitServer, tmp_path: Path) -> None:
    repositories = open_repositories(forge, tmp_path, repo_hosts=("http://127.0.0.1:1",))
    with pytest.raises(RepositoryUnavailable, match="could not be reached"):
        await repositories.commit(Repo(url="http://127.0.0.1:1/project"))


async def test_a_missing_repository_branch_or_commit_is_named(
    project: Repository, forge: GitServer, tmp_path: Path
) -> None:
    repositories = open_repositories(forge, tmp_path)
    with pytest.raises(RepositoryRefused, match="has no repository"):
        await repositories.commit(Repo(url=forge.url("none/.git")))
    with pytest.raises(RepositoryRefused, match="has no commits"):
        await repositories.commit(Repo(url=forge.url("project/.git")))
    project.commit({"a.txt": b"1\n"})
    with pytest.raises(RepositoryRefused, match="no branch or tag 'gone'"):
        await repositories.commit(Repo(url=forge.url("project/.git"), ref="gone"))
    with pytest.raises(RepositoryRefused, match="no longer has the commit"):
        await repositories.commit(Repo(url=forge.url("project/.git"), ref="f" * 40))


async def test_a_fetch_ends_at_the_limit_of_bytes(
    project: Repository, forge: GitServer, tmp_path: Path
) -> None:
    project.commit({"a.bin": os.urandom(24 * 2**20)})
    repositories = open_repositories(forge, tmp_path, repo_bytes=1_000_000)
    with pytest.raises(RepositoryRefused, match=r"sent more than 1000000 bytes.*FETTLE_REPO_BYTES"):
        await repositories.commit(Repo(url=forge.url("project/.git")))
    stored_bytes = sum(
        path.stat().st_size for path in repositories.folder.rglob("*") if path.is_file()
    )
    assert stored_bytes < 2_000_000


async def test_a_fetch_ends_at_the_limit_of_time(
    project: Repository, forge: GitServer, tmp_path: Path
) -> None:
    project.commit({"a.txt": b"1\n"})
    forge.pause = threading.Event()
    repositories = open_repositories(forge, tmp_path, repo_seconds=3)
    with pytest.raises(RepositoryRefused, match="took longer than 3 s"):
        await repositories.commit(Repo(url=forge.url("project/.git")))
    forge.pause.set()
    patient_repositories = open_repositories(forge, tmp_path)
    assert (await load_base(patient_repositories, forge.url("project/.git"))).entries.keys() == {
        "a.txt"
    }


async def test_a_message_of_a_host_is_shown_as_printable_text(tmp_path: Path) -> None:
    with web_server() as server:
        service = b"# service=git-upload-pack\n"
        line = b"ERR no \x1b[31mred\x1b[0m\nfatal: second"
        body = b"%04x%s0000%04x%s" % (len(service) + 4, service, len(line) + 4, line)
        kind = "application/x-git-upload-pack-advertisement"
        server.answers["/x/info/refs?service=git-upload-pack"] = Answer(body, kind)
        listed = f"http://127.0.0.1:{server.port}"
        repositories = Repositories(tmp_path, RepositorySettings(repo_hosts=(listed,)))
        with pytest.raises(RepositoryRefused, match=r"no \?\[31mred") as refused:
            await repositories.commit(Repo(url=f"{listed}/x"))
        assert str(refused.value).isprintable()


async def test_tls_uses_the_certificates_that_this_machine_trusts(
    project: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate, context = self_signed(tmp_path, "localhost")
    commit = project.commit({"a.txt": b"1\n"})
    with git_server(tmp_path, context) as forge:
        repositories = open_repositories(forge, tmp_path)
        repo = Repo(url=forge.url("project/.git"))
        with pytest.raises(RepositoryRefused, match="certificate"):
            await repositories.commit(repo)
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        assert await repositories.commit(repo) == commit


async def test_many_fetches_leave_few_packs(
    project: Repository, forge: GitServer, tmp_path: Path
) -> None:
    repositories, url = open_repositories(forge, tmp_path), forge.url("project/.git")
    for number in range(53):
        project.commit({"a.txt": b"%d\n" % number})
        await repositories.commit(Repo(url=url))
    first = project.git("rev-list", "--max-parents=0", "HEAD")
    assert len(list(repositories.folder.glob("mirrors/*/objects/pack/*.pack"))) < 10
    forge.requests.clear()
    assert await (await repositories.base(Repo(url=url), first)).read("a.txt") == b"0\n"
    assert forge.requests == []


async def test_an_address_may_end_without_git_or_with_a_slash(
    forge: GitServer, tmp_path: Path
) -> None:
    """People copy addresses without `.git`; an address with a trailing `/` names the same
    mirror.
    """
    project = create_repository(tmp_path / "app")
    project.commit({"a.txt": b"1\n"})
    repositories = open_repositories(forge, tmp_path)
    first = await load_base(repositories, forge.url("app"))
    assert (await load_base(repositories, forge.url("app/"))).layer == first.layer

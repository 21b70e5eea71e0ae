"""What a host sends is a stranger's: trees that lead elsewhere, broken objects, half a pack."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.servers.git_repositories import Repository
from support.servers.git_server import GitServer, git_server

from jobs.model.spec import Repo
from settings.repositories import RepositorySettings
from worker.repositories.base import CommitBase
from worker.repositories.errors import RepositoryRefused, RepositoryUnavailable
from worker.repositories.source import Repositories

SENT = GitServer.sent
MODULES = b'[submodule "x"]\npath = sub\nurl = --upload-pack=touch /tmp/x\n'


@pytest.fixture
def forge(tmp_path: Path) -> Iterator[GitServer]:
    with git_server(tmp_path) as server:
        yield server


Spoil = Callable[[Repository, GitServer], object]


def named(name: str) -> Spoil:
    """A tree with a folder of this name."""
    return lambda project, _: project.commit_tree(f"040000 tree {project.tree()} {name}")


def modules(project: Repository, _: GitServer) -> None:
    rows = f"100644 blob {project.blob(MODULES)} .gitmodules\n160000 commit {'1' * 40} sub"
    project.commit_tree(rows)


def one_name_twice(project: Repository, _: GitServer) -> None:
    link = project.blob(b"/tmp")
    project.commit_tree(f"120000 blob {link} name\n040000 tree {project.tree()} name")


def a_million_files(project: Repository, _: GitServer) -> None:
    project.commit({f"f{number}": b"" for number in range(10)})
    for _ in range(6):
        rows = "\n".join(f"040000 tree {project.tree()} d{number}" for number in range(10))
        project.git("reset", "--quiet", "--soft", project.commit_tree(rows))


def corrupt_at_the_host(project: Repository, _: GitServer) -> None:
    project.commit({"a.bin": os.urandom(5_000)})
    oid = project.git("rev-parse", "HEAD:a.bin")
    path = project.folder / ".git/objects" / oid[:2] / oid[2:]
    path.chmod(0o644)
    path.write_bytes(changed(path.read_bytes()))


def corrupt_on_the_way(project: Repository, forge: GitServer) -> None:
    project.commit({"a.bin": os.urandom(5_000)})
    forge.sent = changed


def cut(remaining_bytes: int) -> Spoil:
    """The last bytes of the pack do not come."""

    def spoil(project: Repository, forge: GitServer) -> None:
        project.commit({"a.bin": os.urandom(5_000)})
        forge.sent = lambda answer: answer[:-remaining_bytes]

    return spoil


def changed(content: bytes) -> bytes:
    middle = len(content) // 2
    flipped_bytes = bytes(byte ^ 255 for byte in content[middle:][:9])
    return content[:middle] + flipped_bytes + content[middle:][9:]


async def base(repositories: Repositories, forge: GitServer, ref: str) -> CommitBase:
    repo = Repo(url=forge.url("project/.git"), ref=ref)
    return await repositories.base(repo, await repositories.commit(repo))


@pytest.mark.parametrize(
    ("spoil", "reason", "passing"),
    [
        (named(".."), "not safe to check out: .*hasDotdot", False),
        (named(".git"), "not safe to check out: .*hasDotgit", False),
        (modules, "not safe to check out: .*gitmodules", False),
        (one_name_twice, "not safe to check out: .*duplicateEntries", False),
        (a_million_files, "more than 50000 files", False),
        (corrupt_at_the_host, "corrupt loose object", False),
        (corrupt_on_the_way, "cannot be fetched: .*inflate", False),
        (cut(3_000), "could not be reached: .*still expected", True),
        (cut(4), "could not be reached: .*hung up", True),
    ],
    ids=lambda each: getattr(each, "__name__", None),
)
async def test_the_job_ends_with_the_reason_and_the_mirror_is_good(
    project: Repository,
    forge: GitServer,
    tmp_path: Path,
    spoil: Spoil,
    reason: str,
    passing: bool,
) -> None:
    """What may have been cut on its way is asked for again."""
    project.commit({"good.txt": b"1\n"})
    project.git("branch", "good")
    spoil(project, forge)
    repositories = Repositories(tmp_path / "kept", RepositorySettings(repo_hosts=(forge.listed,)))
    with pytest.raises(RepositoryRefused, match=reason) as raised:
        await base(repositories, forge, "main")
    assert isinstance(raised.value, RepositoryUnavailable) == passing
    assert list(repositories.layers.iterdir()) == []
    forge.sent = SENT
    assert await (await base(repositories, forge, "good")).read("good.txt") == b"1\n"
    assert list(repositories.folder.glob("mirrors/*/objects/pack/*tmp*")) == []


async def test_links_lead_nowhere_and_names_are_as_they_are(
    project: Repository, forge: GitServer, tmp_path: Path
) -> None:
    links = {"out": "/etc/passwd", "up": "../../../..", "own": ".git/config"}
    for name, target in links.items():
        (project.folder / name).symlink_to(target)
    files = {"Name.txt": b"1\n", "name.txt": b"2\n", "NAME/a": b"3\n"}
    project.commit(files)
    repositories = Repositories(tmp_path / "kept", RepositorySettings(repo_hosts=(forge.listed,)))
    base_commit = await base(repositories, forge, "main")
    layer = repositories.layers / base_commit.layer
    assert {name: str((layer / name).readlink()) for name in links} == links
    assert {name: await base_commit.read(name) for name in links} == dict.fromkeys(links)
    assert {path: (layer / path).read_bytes() for path in files} == files
    assert {path: await base_commit.read(path) for path in files} == files

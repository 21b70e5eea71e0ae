"""A host may send anything: trees with unsafe paths, broken objects, half a pack."""

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


Damage = Callable[[Repository, GitServer], object]


def serve_folder_named(name: str) -> Damage:
    """Serve a tree that has a folder of this name."""
    return lambda project, _: project.commit_tree(f"040000 tree {project.tree()} {name}")


def serve_gitmodules(project: Repository, _: GitServer) -> None:
    rows = f"100644 blob {project.blob(MODULES)} .gitmodules\n160000 commit {'1' * 40} sub"
    project.commit_tree(rows)


def serve_duplicate_names(project: Repository, _: GitServer) -> None:
    link = project.blob(b"/tmp")
    project.commit_tree(f"120000 blob {link} name\n040000 tree {project.tree()} name")


def serve_a_million_files(project: Repository, _: GitServer) -> None:
    project.commit({f"f{number}": b"" for number in range(10)})
    for _ in range(6):
        rows = "\n".join(f"040000 tree {project.tree()} d{number}" for number in range(10))
        project.git("reset", "--quiet", "--soft", project.commit_tree(rows))


def corrupt_on_the_host(project: Repository, _: GitServer) -> None:
    project.commit({"a.bin": os.urandom(5_000)})
    oid = project.git("rev-parse", "HEAD:a.bin")
    path = project.folder / ".git/objects" / oid[:2] / oid[2:]
    path.chmod(0o644)
    path.write_bytes(flip_bytes(path.read_bytes()))


def corrupt_in_transit(project: Repository, forge: GitServer) -> None:
    project.commit({"a.bin": os.urandom(5_000)})
    forge.sent = flip_bytes


def cut_off(remaining_bytes: int) -> Damage:
    """Cut off the last bytes of the pack."""

    def damage(project: Repository, forge: GitServer) -> None:
        project.commit({"a.bin": os.urandom(5_000)})
        forge.sent = lambda answer: answer[:-remaining_bytes]

    return damage


def flip_bytes(content: bytes) -> bytes:
    middle = len(content) // 2
    flipped_bytes = bytes(byte ^ 255 for byte in content[middle:][:9])
    return content[:middle] + flipped_bytes + content[middle:][9:]


async def load_base(repositories: Repositories, forge: GitServer, ref: str) -> CommitBase:
    repo = Repo(url=forge.url("project/.git"), ref=ref)
    return await repositories.base(repo, await repositories.commit(repo))


@pytest.mark.parametrize(
    ("damage", "reason", "is_outage"),
    [
        (serve_folder_named(".."), "not safe to check out: .*hasDotdot", False),
        (serve_folder_named(".git"), "not safe to check out: .*hasDotgit", False),
        (serve_gitmodules, "not safe to check out: .*gitmodules", False),
        (serve_duplicate_names, "not safe to check out: .*duplicateEntries", False),
        (serve_a_million_files, "more than 50000 files", False),
        (corrupt_on_the_host, "corrupt loose object", False),
        (corrupt_in_transit, "cannot be fetched: .*inflate", False),
        (cut_off(3_000), "could not be reached: .*still expected", True),
        (cut_off(4), "could not be reached: .*hung up", True),
    ],
    ids=lambda each: getattr(each, "__name__", None),
)
async def test_the_job_ends_with_the_reason_and_the_mirror_stays_usable(
    project: Repository,
    forge: GitServer,
    tmp_path: Path,
    damage: Damage,
    reason: str,
    is_outage: bool,
) -> None:
    """An answer that may have been cut off in transit is an outage, so the job requests it
    again.
    """
    project.commit({"good.txt": b"1\n"})
    project.git("branch", "good")
    damage(project, forge)
    repositories = Repositories(tmp_path / "kept", RepositorySettings(repo_hosts=(forge.listed,)))
    with pytest.raises(RepositoryRefused, match=reason) as raised:
        await load_base(repositories, forge, "main")
    assert isinstance(raised.value, RepositoryUnavailable) == is_outage
    assert list(repositories.layers.iterdir()) == []
    forge.sent = SENT
    assert await (await load_base(repositories, forge, "good")).read("good.txt") == b"1\n"
    assert list(repositories.folder.glob("mirrors/*/objects/pack/*tmp*")) == []


async def test_links_are_not_followed_and_names_are_kept(
    project: Repository, forge: GitServer, tmp_path: Path
) -> None:
    links = {"out": "/etc/passwd", "up": "../../../..", "own": ".git/config"}
    for name, target in links.items():
        (project.folder / name).symlink_to(target)
    files = {"Name.txt": b"1\n", "name.txt": b"2\n", "NAME/a": b"3\n"}
    project.commit(files)
    repositories = Repositories(tmp_path / "kept", RepositorySettings(repo_hosts=(forge.listed,)))
    base_commit = await load_base(repositories, forge, "main")
    layer = repositories.layers / base_commit.layer
    assert {name: str((layer / name).readlink()) for name in links} == links
    assert {name: await base_commit.read(name) for name in links} == dict.fromkeys(links)
    assert {path: (layer / path).read_bytes() for path in files} == files
    assert {path: await base_commit.read(path) for path in files} == files

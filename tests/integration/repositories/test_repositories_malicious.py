"""Repositories that are broken, too large or harmful: each job ends with a clear reason."""

from __future__ import annotations

import hashlib
import subprocess
import zlib
from pathlib import Path

import pytest
from support.servers.git_repositories import Repository, create_repository

from worker.repositories.errors import RepositoryRefused
from worker.repositories.refs import is_full_name

LARGE = 128 * 2**20


def is_empty_store(folder: Path) -> bool:
    """Whether no mirror, no layer and no temporary file remains."""
    return not any(list((folder / name).glob("*")) for name in ("mirrors", "layers", "making"))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "no git bundle"),
        (b"PK\x03\x04 a zip file", "no git bundle"),
        (b"# v2 git bundle\n", "cut off in its header"),
        (b"# v2 git bundle\nnonsense\n\nPACK", "an invalid header"),
        (b"# v2 git bundle\n\nPACK", "is empty: commit something"),
        (b"# v3 git bundle\n@object-format=sha256\n\n", "by SHA-256"),
        (b"# v3 git bundle\n@filter=blob:none\n\n", "a partial clone"),
        (b"# v2 git bundle\n-" + b"1" * 40 + b" x\n\n", "commits that are not in it"),
        (b"# v2 git bundle\n" + b"1" * 40 + b" refs/heads/main\n\nPACK", "cannot be unpacked"),
        (b"# v2 git bundle\n" + b"x\n" * 10_001 + b"\n", "more than 10000 refs"),
        (b"# v2 git bundle\n" + b"x" * 2**21 + b"\n\n", "names take more than 2097152 bytes"),
    ],
)
async def test_bytes_that_are_no_bundle(uploads, content: bytes, reason: str) -> None:
    with pytest.raises(RepositoryRefused, match=reason):
        await uploads.commit(content)
    assert is_empty_store(uploads.folder)


async def test_a_truncated_or_changed_bundle(project: Repository, uploads) -> None:
    project.commit({f"f{n}.txt": b"%d\n" % n * 100 for n in range(50)})
    bundle = project.bundle()
    middle = len(bundle) - 400
    for content in (bundle[:-30], bundle[:middle] + b"\xff" * 8 + bundle[middle + 8 :]):
        with pytest.raises(RepositoryRefused, match="cannot be unpacked"):
            await uploads.commit(content)
    assert is_empty_store(uploads.folder)


async def test_a_bundle_without_its_pack_names_no_commit(project: Repository, uploads) -> None:
    """The header names refs to commits that no pack contains."""
    commit = project.commit({"a.txt": b"1\n"})
    bundle = project.bundle()
    with pytest.raises(RepositoryRefused, match="an invalid ref"):
        await uploads.commit(bundle.replace(commit.encode(), b"1" * 40))
    with pytest.raises(RepositoryRefused, match="an invalid ref"):
        await uploads.commit(bundle.replace(b"refs/heads/main", b"refs/heads/a..b"))


NAMES = (
    b"refs/heads/a\0%(commit)s\0create refs/heads/evil",
    b"refs/heads/a\0%(commit)s\0delete refs/heads/main\0",
    b"refs/heads/a\rcreate refs/heads/evil",
    b"--stdin",
    b"-d",
    b"heads/evil",
    b"evil",
    b"HEAD\0",
    b"refs/heads/",
    b"refs/heads/a b",
    b"refs/heads/a\x7f",
    b"refs/heads/.a",
    b"refs/heads/a.lock",
    b"refs/heads/a.lock/b",
    b"refs/heads/a@{1}",
    b"refs/heads/a:b",
    b"refs/remotes/origin/a~1",
)


@pytest.mark.parametrize("name", NAMES)
async def test_a_ref_name_is_neither_a_command_nor_an_option(
    project: Repository, uploads, name: bytes
) -> None:
    commit = project.commit({"a.txt": b"1\n"}).encode()
    bundle = project.bundle()
    row = commit + b" " + name.replace(b"%(commit)s", commit) + b"\n"
    harmful = bundle.replace(b"# v2 git bundle\n", b"# v2 git bundle\n" + row, 1)
    assert harmful != bundle
    with pytest.raises(RepositoryRefused, match="an invalid ref"):
        await uploads.commit(harmful)
    with pytest.raises(RepositoryRefused, match="an invalid ref"):
        await uploads.commit(harmful, "evil")
    assert is_empty_store(uploads.folder)


def test_ref_names_are_valid_exactly_if_git_accepts_them() -> None:
    signs = [chr(code) for code in range(1, 256)]
    parts = (".", "..", "@", "@{", "a.lock", "-a", "a.", ".a", "a/b", "a//b", "a/", "\u202f", "{")
    for name in (
        f"refs/heads/{part}{more}" for part in (*signs, *parts) for more in ("", "x", "/x")
    ):
        git_check = subprocess.run(["git", "check-ref-format", name], check=False)
        assert is_full_name(name) == (git_check.returncode == 0), repr(name)


async def test_a_branch_name_may_have_bytes_that_are_not_utf_8(
    project: Repository, uploads
) -> None:
    commit = project.commit({"a.txt": b"1\n"})
    bundle = project.bundle("refs/heads/main")
    odd = bundle.replace(b"refs/heads/main", b"refs/heads/ma\xffn")
    assert await uploads.commit(odd) == commit


async def test_a_bundle_of_a_repository_with_several_work_trees(
    project: Repository, uploads, tmp_path: Path
) -> None:
    commit = project.commit({"a.txt": b"1\n"})
    linked = tmp_path / "linked"
    project.git("worktree", "add", "--detach", str(linked))
    for tree, link_target in (
        (project, b"worktrees/linked"),
        (Repository(linked), b"main-worktree"),
    ):
        bundle = tree.bundle("--all")
        assert b" " + link_target + b"/HEAD\n" in bundle
        assert await uploads.commit(bundle) == commit
        with pytest.raises(RepositoryRefused, match="an invalid ref"):
            await uploads.commit(bundle.replace(b" " + link_target, b" " + link_target + b"\0", 1))


async def test_a_bundle_of_a_shallow_clone(project: Repository, uploads, tmp_path: Path) -> None:
    project.commit({"a.txt": b"1\n"})
    project.commit({"a.txt": b"2\n"})
    project.git("clone", "--quiet", "--depth=1", f"file://{project.folder}", str(tmp_path / "s"))
    with pytest.raises(RepositoryRefused, match="of a shallow clone"):
        await uploads.commit(Repository(tmp_path / "s").bundle())


@pytest.mark.parametrize("name", ["..", ".", ".git", ".GIT", "git~1", "a/b"])
async def test_a_tree_with_an_unsafe_name(project: Repository, uploads, name: str) -> None:
    project.commit_tree(f"100644 blob {project.blob(b'x')} {name}")
    with pytest.raises(RepositoryRefused, match="cannot be unpacked"):
        await uploads.commit(project.bundle("main"))
    assert is_empty_store(uploads.folder)


@pytest.mark.parametrize("name", ["..", ".git"])
async def test_a_tree_below_an_unsafe_name(project: Repository, uploads, name: str) -> None:
    project.commit({"hooks/post-checkout": b"#!/bin/sh\n"})
    project.commit_tree(f"040000 tree {project.tree()} {name}")
    with pytest.raises(RepositoryRefused, match="cannot be unpacked"):
        await uploads.commit(project.bundle("main"))


async def test_a_tree_with_a_duplicate_name(project: Repository, uploads) -> None:
    """A link and a folder have the same name: a checkout that follows the link would write
    elsewhere.
    """
    project.commit({"inside.txt": b"x\n"})
    link = project.blob(b"/tmp")
    project.commit_tree(f"120000 blob {link} name\n040000 tree {project.tree()} name")
    with pytest.raises(RepositoryRefused, match="cannot be unpacked"):
        await uploads.commit(project.bundle("main"))


async def test_gitmodules_that_would_run_a_command(project: Repository, uploads) -> None:
    content = b'[submodule "x"]\npath = sub\nurl = --upload-pack=touch /tmp/x\n'
    project.commit_tree(
        f"100644 blob {project.blob(content)} .gitmodules\n160000 commit {'1' * 40} sub"
    )
    with pytest.raises(RepositoryRefused, match=r"cannot be unpacked: .*gitmodules"):
        await uploads.commit(project.bundle("main"))


async def test_too_many_files(project: Repository, uploads) -> None:
    project.commit({f"f{n}.txt": b"" for n in range(11)})
    bundle = project.bundle()
    with pytest.raises(RepositoryRefused, match=r"more than 10 files.*FETTLE_REPO_FILES"):
        await uploads.base(bundle, repo_files=10)
    assert not list((uploads.folder / "layers").iterdir())
    assert len((await uploads.base(bundle, repo_files=11)).entries) == 11


async def test_a_tree_of_trees_that_has_a_million_files(project: Repository, uploads) -> None:
    """Seven objects; each contains the object before ten times. No code may list all files."""
    project.commit({f"f{n}": b"" for n in range(10)})
    for _ in range(6):
        rows = "\n".join(f"040000 tree {project.tree()} d{n}" for n in range(10))
        project.git("reset", "--quiet", "--soft", project.commit_tree(rows))
    with pytest.raises(RepositoryRefused, match="more than 50000 files"):
        await uploads.base(project.bundle("main"))


async def test_a_bundle_that_is_too_large(project: Repository, uploads) -> None:
    project.commit({"a.txt": b"1\n"})
    with pytest.raises(RepositoryRefused, match=r"bytes; a repository has at most 100"):
        await uploads.commit(project.bundle(), repo_bytes=100)


async def test_files_that_are_too_large_together(project: Repository, uploads) -> None:
    project.commit({"a.txt": b"0" * 600_000, "b.txt": b"1" * 600_000})
    with pytest.raises(RepositoryRefused, match=r"1200000 bytes together.*FETTLE_REPO_BYTES"):
        await uploads.base(project.bundle(), repo_bytes=1_000_000)
    assert not list((uploads.folder / "layers").iterdir())


async def test_a_small_object_that_unpacks_to_a_large_file(tmp_path: Path, uploads) -> None:
    """A blob of zeros, which git streams to a pack without loading it completely."""
    project = create_repository(tmp_path / "bomb")
    packer = zlib.compressobj(1)
    digest = hashlib.sha1(header := b"blob %d\0" % LARGE)
    parts = [packer.compress(header)]
    for _ in range(LARGE // 2**20):
        digest.update(bytes(2**20))
        parts.append(packer.compress(bytes(2**20)))
    oid = digest.hexdigest()
    project.write({f".git/objects/{oid[:2]}/{oid[2:]}": b"".join(parts) + packer.flush()})
    project.commit_tree(f"100644 blob {oid} zeros")
    bundle = project.bundle("main")
    assert len(bundle) < LARGE // 100
    with pytest.raises(RepositoryRefused, match="FETTLE_REPO_BYTES"):
        await uploads.base(bundle, repo_bytes=LARGE // 2)
    assert not list((uploads.folder / "layers").iterdir())


async def test_faults_of_old_tools_are_accepted(project: Repository, uploads) -> None:
    """The history of well-known repositories has such faults."""
    tree = project.tree(project.commit({"a.txt": b"1\n"}))
    text = f"tree {tree}\nauthor A <a@x> 1300000000 +051800\ncommitter A <a@x> 1 +0000\n\nx\n"
    commit = project.git(
        "hash-object", "-t", "commit", "-w", "--literally", "--stdin", stdin=text.encode()
    )
    project.git("update-ref", "refs/heads/main", commit)
    assert await uploads.commit(project.bundle("main")) == commit


async def test_a_path_that_is_too_long_for_a_disk(project: Repository, uploads) -> None:
    project.commit_tree(f"100644 blob {project.blob(b'x')} {'n' * 300}")
    with pytest.raises(RepositoryRefused, match="a path that is too long"):
        await uploads.base(project.bundle("main"))


async def test_a_fetch_that_takes_too_long(project: Repository, uploads) -> None:
    project.commit({f"f{n}.bin": bytes(range(256)) * n for n in range(200)})
    with pytest.raises(RepositoryRefused, match="longer than"):
        await uploads.commit(project.bundle(), repo_seconds=0.001)
    assert is_empty_store(uploads.folder)

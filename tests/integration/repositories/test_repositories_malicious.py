"""Repositories that are broken, too large, or made to do harm: each ends with a clear reason."""

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


def nothing_is_left(folder: Path) -> bool:
    """No half of a mirror or a layer, and nothing in the making."""
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
async def test_a_bundle_that_is_none(uploads, content: bytes, reason: str) -> None:
    with pytest.raises(RepositoryRefused, match=reason):
        await uploads.commit(content)
    assert nothing_is_left(uploads.folder)


async def test_a_bundle_that_is_cut_off_or_changed(project: Repository, uploads) -> None:
    project.commit({f"f{n}.txt": b"%d\n" % n * 100 for n in range(50)})
    bundle = project.bundle()
    middle = len(bundle) - 400
    for content in (bundle[:-30], bundle[:middle] + b"\xff" * 8 + bundle[middle + 8 :]):
        with pytest.raises(RepositoryRefused, match="cannot be unpacked"):
            await uploads.commit(content)
    assert nothing_is_left(uploads.folder)


async def test_a_bundle_without_its_pack_names_no_commit(project: Repository, uploads) -> None:
    """The header has refs to commits that are in no pack."""
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
async def test_a_name_of_a_ref_is_no_command_and_no_option(
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
    assert nothing_is_left(uploads.folder)


def test_names_of_refs_are_judged_as_git_judges_them() -> None:
    signs = [chr(code) for code in range(1, 256)]
    parts = (".", "..", "@", "@{", "a.lock", "-a", "a.", ".a", "a/b", "a//b", "a/", "\u202f", "{")
    for name in (
        f"refs/heads/{part}{more}" for part in (*signs, *parts) for more in ("", "x", "/x")
    ):
        judged = subprocess.run(["git", "check-ref-format", name], check=False)
        assert is_full_name(name) == (judged.returncode == 0), repr(name)


async def test_a_branch_whose_name_is_no_text_is_one_nevertheless(
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
async def test_a_tree_with_a_name_that_leads_elsewhere(
    project: Repository, uploads, name: str
) -> None:
    project.commit_tree(f"100644 blob {project.blob(b'x')} {name}")
    with pytest.raises(RepositoryRefused, match="cannot be unpacked"):
        await uploads.commit(project.bundle("main"))
    assert nothing_is_left(uploads.folder)


@pytest.mark.parametrize("name", ["..", ".git"])
async def test_a_tree_below_a_name_that_leads_elsewhere(
    project: Repository, uploads, name: str
) -> None:
    project.commit({"hooks/post-checkout": b"#!/bin/sh\n"})
    project.commit_tree(f"040000 tree {project.tree()} {name}")
    with pytest.raises(RepositoryRefused, match="cannot be unpacked"):
        await uploads.commit(project.bundle("main"))


async def test_a_tree_with_one_name_twice(project: Repository, uploads) -> None:
    """A link and a folder of one name: a checkout that followed the link would write elsewhere."""
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


async def test_files_too_many(project: Repository, uploads) -> None:
    project.commit({f"f{n}.txt": b"" for n in range(11)})
    bundle = project.bundle()
    with pytest.raises(RepositoryRefused, match=r"more than 10 files.*FETTLE_REPO_FILES"):
        await uploads.base(bundle, repo_files=10)
    assert not list((uploads.folder / "layers").iterdir())
    assert len((await uploads.base(bundle, repo_files=11)).entries) == 11


async def test_a_tree_of_trees_that_has_a_million_files(project: Repository, uploads) -> None:
    """Seven objects, each with the one before ten times: nobody lists them all."""
    project.commit({f"f{n}": b"" for n in range(10)})
    for _ in range(6):
        rows = "\n".join(f"040000 tree {project.tree()} d{n}" for n in range(10))
        project.git("reset", "--quiet", "--soft", project.commit_tree(rows))
    with pytest.raises(RepositoryRefused, match="more than 50000 files"):
        await uploads.base(project.bundle("main"))


async def test_a_bundle_too_large(project: Repository, uploads) -> None:
    project.commit({"a.txt": b"1\n"})
    with pytest.raises(RepositoryRefused, match=r"bytes; a repository has at most 100"):
        await uploads.commit(project.bundle(), repo_bytes=100)


async def test_files_too_large_together(project: Repository, uploads) -> None:
    project.commit({"a.txt": b"0" * 600_000, "b.txt": b"1" * 600_000})
    with pytest.raises(RepositoryRefused, match=r"1200000 bytes together.*FETTLE_REPO_BYTES"):
        await uploads.base(project.bundle(), repo_bytes=1_000_000)
    assert not list((uploads.folder / "layers").iterdir())


async def test_one_file_of_few_bytes_that_unpacks_to_many(tmp_path: Path, uploads) -> None:
    """A blob of zeros, which git streams to a pack without looking at it as a whole."""
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


async def test_faults_that_old_tools_left_are_taken(project: Repository, uploads) -> None:
    """As in the history of well-known repositories."""
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
    assert nothing_is_left(uploads.folder)

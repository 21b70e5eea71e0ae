"""An upload becomes a layer with its files, in which git works."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from support.servers.git_repositories import Repository, create_repository

from worker.repositories.errors import RepositoryRefused

FILES = {
    "src/app.py": b"print('x')\n",
    "data/bytes.bin": bytes(range(256)) * 40,
    "README.md": b"# App\n",
    "dos.bat": b"echo\n",
    ".gitattributes": b"*.bat text eol=crlf\n*.py ident filter=lfs\n",
}


def in_copy(layer: Path, folder: Path, *args: str) -> str:
    """A copy of the layer with git, as a job's code would use it."""
    if not folder.exists():
        shutil.copytree(layer, folder, symlinks=True)
    done = subprocess.run(["git", *args], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


async def test_the_layer_is_the_tree_of_the_commit(project: Repository, uploads) -> None:
    project.write({"run.sh": b"#!/bin/sh\n"})
    (project.folder / "run.sh").chmod(0o755)
    (project.folder / "link").symlink_to("/etc/passwd")
    commit = project.commit(FILES)
    base = await uploads.base(project.bundle())
    layer = uploads.layer(base)
    assert base.commit == commit
    assert {path: (layer / path).read_bytes() for path in FILES} == FILES
    assert set(base.entries) == {*FILES, "run.sh", "link"}
    assert os.access(layer / "run.sh", os.X_OK)
    assert not os.access(layer / "README.md", os.X_OK)
    assert (layer / "link").readlink() == Path("/etc/passwd")
    assert base.entries["run.sh"].mode == 0o100755
    assert base.entries["data/bytes.bin"].size == 256 * 40


async def test_files_of_a_layer_have_one_time_and_plain_modes(project: Repository, uploads) -> None:
    paths = [".github/workflows/ci.yml", ".gitattributes", ".gitlab/a", "src/a.py"]
    project.commit(dict.fromkeys(paths, b"a\n"))
    umask = os.umask(0o077)
    try:
        base = await uploads.base(project.bundle())
    finally:
        os.umask(umask)
    states = [(uploads.layer(base) / path).stat() for path in (*paths, ".github", "src")]
    assert {state.st_mtime for state in states} == {1_700_000_000}
    assert [oct(state.st_mode & 0o777) for state in states] == ["0o644"] * 4 + ["0o755"] * 2


async def test_bytes_are_read_from_objects_and_no_link_is_followed(
    project: Repository, uploads
) -> None:
    (project.folder / "link").symlink_to("/etc/passwd")
    project.commit(FILES)
    base = await uploads.base(project.bundle())
    assert {path: await base.read(path) for path in FILES} == FILES
    assert await base.read("link") is None
    assert await base.read("missing") is None


async def test_git_works_in_a_copy_of_the_layer(
    project: Repository, uploads, tmp_path: Path
) -> None:
    project.commit({"a.txt": b"1\n"}, "First")
    project.git("tag", "--annotate", "v1.2.0", "--message", "Release")
    commit = project.commit(FILES, "Second")
    base = await uploads.base(project.bundle())
    layer, copy = uploads.layer(base), tmp_path / "copy"
    assert in_copy(layer, copy, "describe") == f"v1.2.0-1-g{commit[:7]}"
    assert in_copy(layer, copy, "log", "--format=%s").split() == ["Second", "First"]
    assert in_copy(layer, copy, "status", "--porcelain") == ""
    assert in_copy(layer, copy, "remote") == ""
    assert in_copy(layer, copy, "fsck", "--strict") == ""
    (copy / "a.txt").write_bytes(b"2\n")  # the same length as before
    assert in_copy(layer, copy, "status", "--porcelain") == "M a.txt"


async def test_status_reads_no_file_whose_time_and_size_are_the_same(
    project: Repository, uploads, tmp_path: Path
) -> None:
    """So status is quick in a repository of any size: git does not read these files again."""
    files = {f"d{n % 9}/f{n}.txt": b"1\n" for n in range(300)}
    project.commit(files)
    base = await uploads.base(project.bundle())
    copy = tmp_path / "copy"
    assert in_copy(uploads.layer(base), copy, "status", "--porcelain") == ""
    for path in files:
        at = (copy / path).stat()
        (copy / path).write_bytes(b"2\n")
        os.utime(copy / path, ns=(at.st_atime_ns, at.st_mtime_ns))
    assert in_copy(copy, copy, "status", "--porcelain") == ""


async def test_a_bundle_brings_neither_configuration_nor_hooks_nor_attributes(
    project: Repository, uploads, tmp_path: Path
) -> None:
    """The configuration of a repository could run commands, so a bundle does not carry it."""
    mark = tmp_path / "mark"
    project.commit({"a.txt": b"1\n"})
    for name in ("core.fsmonitor", "filter.lfs.smudge", "core.sshCommand"):
        project.git("config", name, f"touch {mark}")
    hooks = project.folder / ".git" / "hooks"
    hooks.mkdir()
    for name in ("post-checkout", "post-index-change", "reference-transaction"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {mark}\n")
        (hooks / name).chmod(0o755)
    mark.unlink(missing_ok=True)
    bundle = project.bundle("HEAD")
    mark.unlink(missing_ok=True)
    base = await uploads.base(bundle)
    await base.patch({"a.txt": b"2\n"}, frozenset())
    text = (uploads.layer(base) / ".git" / "config").read_text()
    assert "touch" not in text
    assert "fsmonitor" not in text
    assert not (uploads.layer(base) / ".git" / "hooks").exists()
    assert not mark.exists()


async def test_refs_are_branches_tags_and_commits(project: Repository, uploads) -> None:
    first = project.commit({"a.txt": b"1\n"})
    project.git("tag", "v1")
    project.git("branch", "team/topic")
    second = project.commit({"a.txt": b"2\n"})
    bundle = project.bundle()
    named_refs = {
        None: second,
        "HEAD": second,
        "main": second,
        "v1": first,
        "team/topic": first,
        first: first,
    }
    named_refs |= {"refs/tags/v1": first, first[:10]: first}
    assert {ref: await uploads.commit(bundle, ref) for ref in named_refs} == named_refs
    assert uploads.loaded == 1


@pytest.mark.parametrize("ref", ["gone", "f" * 40, "deadbeef"])
async def test_a_missing_ref_is_named_with_the_existing_refs(
    project: Repository, uploads, ref: str
) -> None:
    project.commit({"a.txt": b"1\n"})
    with pytest.raises(RepositoryRefused, match=f"no branch, tag or commit '{ref}'; it has main"):
        await uploads.commit(project.bundle(), ref)


@pytest.mark.parametrize("ref", ["--upload-pack=x", "a..b", "HEAD^", "x y", "a:b", "@{-1}", ""])
async def test_an_invalid_ref_name_is_refused(project: Repository, uploads, ref: str) -> None:
    project.commit({"a.txt": b"1\n"})
    with pytest.raises(RepositoryRefused, match="no name of a branch"):
        await uploads.commit(project.bundle(), ref)


async def test_a_bundle_of_one_branch_needs_no_head(project: Repository, uploads) -> None:
    commit = project.commit({"a.txt": b"1\n"})
    assert await uploads.commit(project.bundle("main")) == commit
    project.git("branch", "other")
    with pytest.raises(RepositoryRefused, match=r"has no HEAD: name .* main, other"):
        await uploads.commit(project.bundle("main", "other"))


async def test_a_submodule_is_an_empty_directory(project: Repository, uploads) -> None:
    modules = project.blob(b'[submodule "x"]\npath = sub\nurl = https://x.example/y\n')
    project.commit_tree(f"100644 blob {modules} .gitmodules\n160000 commit {'1' * 40} sub")
    base = await uploads.base(project.bundle())
    assert list((uploads.layer(base) / "sub").iterdir()) == []
    assert not base.entries["sub"].is_file
    assert await base.read("sub") is None


async def test_a_second_job_makes_no_new_layer(project: Repository, uploads) -> None:
    project.commit({"a.txt": b"1\n"})
    first = await uploads.base(project.bundle())
    made_at = uploads.layer(first).stat().st_ino
    started = time.monotonic()
    second = await uploads.base(project.bundle())
    assert time.monotonic() - started < 5
    assert first.layer == second.layer
    assert uploads.layer(second).stat().st_ino == made_at
    assert uploads.loaded == 1


async def test_layers_of_two_repositories_with_one_commit_differ(
    project: Repository, uploads
) -> None:
    """Their tags and histories may differ."""
    project.commit({"a.txt": b"1\n"})
    first = await uploads.base(project.bundle())
    project.git("tag", "secret")
    second = await uploads.base(project.bundle())
    assert first.commit == second.commit
    assert first.layer != second.layer


async def test_names_that_differ_only_in_case_are_two_files(project: Repository, uploads) -> None:
    files = {"Name.txt": b"1\n", "name.txt": b"2\n", "a\\b.txt": b"3\n", "né.txt": b"4\n"}
    project.commit(files)
    base = await uploads.base(project.bundle())
    assert {path: (uploads.layer(base) / path).read_bytes() for path in files} == files


async def test_an_empty_tree_has_a_layer(tmp_path: Path, uploads) -> None:
    project = create_repository(tmp_path / "empty")
    project.commit()
    base = await uploads.base(project.bundle())
    assert base.entries == {}
    assert [path.name for path in uploads.layer(base).iterdir()] == [".git"]

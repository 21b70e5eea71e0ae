"""Git LFS: the pointers of the commit do not change, and they are reported."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from support.graph.graphs import call
from support.servers.git_repositories import Repository, create_repository

from jobs.blobs.directory import DirectoryBlobs
from jobs.blobs.manifest import Manifest
from jobs.view.attention import attention_of
from jobs.view.patch import parse_patch
from worker.adapters.repository import missing_content
from worker.adapters.workspace import ManifestWorkspace

from .conftest import Job, Uploads, sandbox_over, shell

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:%b\nsize 12345\n" % (b"a" * 64)
IN_LFS = "Git LFS would store it: the patch has its bytes instead of a pointer"


@pytest.fixture
def stored(tmp_path: Path) -> Repository:
    """A repository with two pointers, and a file that has such a name and no pointer."""
    repository = create_repository(tmp_path / "stored")
    attributes = b"*.png filter=lfs diff=lfs merge=lfs -text\n/data/*.csv filter=lfs\n"
    repository.commit(
        {
            ".gitattributes": attributes,
            "logo.png": POINTER,
            "data/a.csv": POINTER.replace(b"a" * 64, b"b" * 64),
            "raw.png": b"raw",
            "app.py": b"VALUE = 1\n",
        }
    )
    return repository


@pytest_asyncio.fixture
async def job(stored: Repository, uploads: Uploads, tmp_path: Path) -> AsyncIterator[Job]:
    async with sandbox_over(uploads.repositories().layers) as sandbox:
        yield Job(stored, uploads, sandbox, tmp_path)


async def test_pointers_are_reported(stored: Repository, uploads: Uploads) -> None:
    base = await uploads.base(stored.bundle())
    assert base.pointers == {"logo.png", "data/a.csv"}
    workspace = await ManifestWorkspace.on_commit(DirectoryBlobs(uploads.folder), None, base)
    assert workspace.base is not None
    assert missing_content(workspace.base) == (
        "2 files are pointers of Git LFS, whose content is not here: data/a.csv, logo.png",
    )
    stored.git("rm", "--quiet", ".gitattributes")
    stored.commit()
    assert (await uploads.base(stored.bundle())).pointers == frozenset()


async def test_the_content_of_a_pointer_does_not_change(job: Job) -> None:
    used = await job.use(
        shell("cat logo.png; echo new > logo.png; sed -i s/12345/6/ data/a.csv; echo 2 > app.py"),
        shell("grep -c 12345 logo.png data/a.csv"),
        shell("rm logo.png; ln -s app.py logo.png"),
        call("write_file", path="data/a.csv", content="1,2\n"),
        call("edit_file", path="logo.png", old_text="size", new_text="sizes"),
    )
    (refused,) = used.runs[0]["refused"]
    reason = "Git LFS has the content of the file, and its pointer does not change"
    assert refused == f"data/a.csv and 1 more: {reason}"
    assert used.runs[0]["stdout"]["text"] == POINTER.decode()
    assert used.runs[1]["stdout"]["text"] == "logo.png:1\ndata/a.csv:1\n"
    assert used.runs[2]["refused"] == [f"logo.png: {reason}"]
    for text in used.texts[3:]:
        assert "is a pointer of Git LFS" in text
    clone = await job.apply_patch_to_clone()
    assert clone.git("diff", "--cached", "--name-only", "HEAD") == "app.py"


async def test_a_pointer_can_be_moved_removed_and_made_executable(job: Job) -> None:
    commands = "git mv logo.png img.png; rm data/a.csv; chmod +x raw.png"
    used = await job.use(shell(commands.replace("git ", "")), shell("chmod +x img.png"))
    assert [run["refused"] for run in used.runs] == [[], []]
    clone = await job.apply_patch_to_clone()
    assert clone.git("write-tree") == job.tree_of_clone(commands, "chmod +x img.png")


async def test_a_new_file_that_lfs_would_store_is_a_fact_of_the_patch(job: Job) -> None:
    await job.use(
        shell(
            "printf 'text\\r\\n' > new.png; mkdir sub; echo '*.bin filter=lfs' > sub/.gitattributes"
        ),
        shell("echo 1 > sub/a.bin; echo 1 > a.bin; echo more >> raw.png; cp logo.png copy.png"),
    )
    patch = await job.workspace.patch()
    assert patch is not None
    assert patch.lfs == ("new.png", "raw.png", "sub/a.bin")
    facts = {
        file.path: file.facts for file in attention_of(parse_patch(patch.content), None, patch.lfs)
    }
    assert {path for path, listed in facts.items() if IN_LFS in listed} == {*patch.lfs}


async def test_the_request_can_have_the_content_of_a_pointer(
    stored: Repository, uploads: Uploads, tmp_path: Path
) -> None:
    """Runs need it. The patch keeps the pointer."""
    blobs = DirectoryBlobs(tmp_path / "blobs")
    request = ManifestWorkspace(blobs, Manifest(), None)
    await request.apply({"logo.png": b"content", "app.py": b"VALUE = 2\n"})
    base = await uploads.base(stored.bundle())
    workspace = await ManifestWorkspace.on_commit(blobs, request.digest, base)
    assert (await workspace.tree()).files["logo.png"] == b"content"
    patch = await workspace.patch()
    assert patch is not None
    assert (patch.files, patch.lfs) == (1, ())
    assert b"logo.png" not in patch.content

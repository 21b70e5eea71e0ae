"""Paths and manifests of a workspace."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.blobs.directory import DirectoryBlobs
from jobs.blobs.manifest import (
    FileEntry,
    Manifest,
    checked_path,
    save,
)
from jobs.errors import PathRefused
from sandbox import paths as sandbox_paths


@pytest.mark.parametrize(
    "files",
    [
        {"../a": b""},
        {"a": b"1", "./a": b"2"},
        {"a": b"1", "a/b": b"2"},
        {"a/b/c": b"1", "a": b"2"},
    ],
)
async def test_files_that_no_directory_can_hold_are_refused(files, tmp_path):
    blobs = DirectoryBlobs(tmp_path)
    with pytest.raises(PathRefused):
        await save(blobs, files)


def test_a_run_lays_its_files_over_those_before():
    one, two = FileEntry("a" * 64, 1), FileEntry("b" * 64, 2)
    before = Manifest({"keep": one, "change": one, "delete": one})
    after = before.with_files({"change": two, "new": two}, frozenset({"delete", "never was"}))
    assert after.files == {"keep": one, "change": two, "new": two}
    assert Manifest.read(after.dump()) == after
    assert before.files["change"] == one


@given(st.lists(st.text(max_size=90), max_size=40).map("/".join))
def test_what_is_accepted_here_is_accepted_by_a_sandbox(path):
    try:
        normal = checked_path(path)
    except PathRefused:
        return
    assert sandbox_paths.fault(normal) is None

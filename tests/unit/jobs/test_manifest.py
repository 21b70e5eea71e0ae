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


def test_over_a_commit_it_has_what_differs_from_it():
    one, two = FileEntry("a" * 64, 1), FileEntry("b" * 64, 2)
    in_base = {"kept.py", "gone.py", "back.py"}
    before = Manifest({"made.py": one}, frozenset({"back.py"}), base="c0ffee")
    deleted = frozenset({"gone.py", "made.py", "never was"})
    after = before.with_files({"back.py": two}, deleted, in_base)
    assert after == Manifest({"back.py": two}, frozenset({"gone.py"}), "c0ffee")
    assert before.with_files({}, deleted).removed == deleted | {"back.py"}


@pytest.mark.parametrize("base", [None, "c0ffee"])
def test_it_comes_back_from_its_bytes(base):
    named = dict.fromkeys(("base", "files", "removed"), FileEntry("a" * 64, 1))
    there = Manifest(named, frozenset({"b", "a"} if base else ()), base)
    assert Manifest.read(there.dump()) == there
    same = Manifest(dict(reversed(named.items())), frozenset({"a", "b"} if base else ()), base)
    assert same.dump() == there.dump()


def test_a_workspace_without_a_repository_has_the_digest_that_it_always_had():
    one = FileEntry("a" * 64, 1)
    assert Manifest({"b": one, "a": one}).dump() == (
        b'{"a":["%s",1],"b":["%s",1]}' % (b"a" * 64, b"a" * 64)
    )


@given(st.lists(st.text(max_size=90), max_size=40).map("/".join))
def test_what_is_accepted_here_is_accepted_by_a_sandbox(path):
    try:
        normal = checked_path(path)
    except PathRefused:
        return
    assert sandbox_paths.fault(normal) is None

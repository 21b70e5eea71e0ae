"""Paths and manifests of a workspace."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.blobs.directory import DirectoryBlobs
from jobs.blobs.manifest import (
    DEEPEST_PATH,
    LONGEST_PATH,
    FileEntry,
    Manifest,
    checked_path,
    load,
    save,
)
from jobs.errors import PathRefused
from sandbox import paths as sandbox_paths


@pytest.mark.parametrize(
    ("path", "normal"),
    [
        ("a", "a"),
        ("./a", "a"),
        ("a/./b", "a/b"),
        ("a b/c.txt", "a b/c.txt"),
        (".hidden", ".hidden"),
        ("...", "..."),
        ("naïve/日本.py", "naïve/日本.py"),
        ("x" * LONGEST_PATH, "x" * LONGEST_PATH),
    ],
)
def test_a_path_has_one_normal_form(path, normal):
    assert checked_path(path) == normal


@pytest.mark.parametrize(
    "path",
    [
        "",
        ".",
        "./.",
        "/",
        "/etc/passwd",
        "..",
        "../a",
        "a/../b",
        "a/..",
        "a//b",
        "a/",
        "a\\b",
        "a\nb",
        "a\x00b",
        "a\x7fb",
        "a\u202eb",
        "half \ud83d",
        "x" * (LONGEST_PATH + 1),
        "é" * (LONGEST_PATH // 2 + 1),
    ],
)
def test_a_path_that_could_leave_or_deceive_is_refused(path):
    with pytest.raises(PathRefused):
        checked_path(path)


@given(st.text(max_size=40))
def test_what_passes_stays_inside_and_passes_again(path):
    try:
        normal = checked_path(path)
    except PathRefused:
        return
    assert checked_path(normal) == normal
    assert not normal.startswith("/")
    assert not {"", ".", ".."} & set(normal.split("/"))


async def test_files_are_kept_by_digest_and_found_again(tmp_path):
    blobs = DirectoryBlobs(tmp_path)
    digest = await save(blobs, {"b.txt": b"two", "./a/x.py": b"one"})
    manifest = await load(blobs, digest)
    assert {path: entry.size for path, entry in manifest.files.items()} == {
        "a/x.py": 3,
        "b.txt": 3,
    }
    assert await blobs.get(manifest.files["a/x.py"].digest) == b"one"


async def test_the_same_files_have_the_same_digest_in_any_order(tmp_path):
    blobs = DirectoryBlobs(tmp_path)
    one = await save(blobs, {"a": b"1", "b": b"2"})
    assert one == await save(blobs, {"b": b"2", "a": b"1"})
    assert one != await save(blobs, {"a": b"2", "b": b"1"})


async def test_no_files_are_the_empty_workspace(tmp_path):
    assert await save(DirectoryBlobs(tmp_path), {}) is None
    assert (await load(DirectoryBlobs(tmp_path), None)).files == {}


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


def test_a_path_is_as_deep_as_a_sandbox_takes_it():
    deepest = "/".join("a" * DEEPEST_PATH)
    assert checked_path(deepest) == deepest
    assert sandbox_paths.fault(deepest) is None
    for too_deep in (f"{deepest}/a", f"./{deepest}/a"):
        with pytest.raises(PathRefused, match="at most 32 parts, not 33"):
            checked_path(too_deep)
    assert sandbox_paths.fault(f"{deepest}/a")


@given(st.lists(st.text(max_size=90), max_size=40).map("/".join))
def test_what_is_accepted_here_is_accepted_by_a_sandbox(path):
    try:
        normal = checked_path(path)
    except PathRefused:
        return
    assert sandbox_paths.fault(normal) is None

"""Paths and manifests of a workspace."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.errors import PathOutside
from agents.paths import normalize_path as normalize_agent_path
from jobs.blobs.directory import DirectoryBlobs
from jobs.blobs.manifest import (
    FileEntry,
    Manifest,
    normalize_path,
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
async def test_files_that_cannot_exist_in_one_directory_are_refused(files, tmp_path):
    blobs = DirectoryBlobs(tmp_path)
    with pytest.raises(PathRefused):
        await save(blobs, files)


def test_the_files_of_a_run_replace_earlier_files():
    first, second = FileEntry("a" * 64, 1), FileEntry("b" * 64, 2)
    before = Manifest({"keep": first, "change": first, "delete": first})
    after = before.with_files({"change": second, "new": second}, frozenset({"delete", "never was"}))
    assert after.files == {"keep": first, "change": second, "new": second}
    assert Manifest.read(after.dump()) == after
    assert before.files["change"] == first


def test_a_manifest_over_a_commit_has_only_the_differences():
    first, second = FileEntry("a" * 64, 1), FileEntry("b" * 64, 2)
    in_base = {"kept.py", "gone.py", "back.py"}
    before = Manifest({"made.py": first}, frozenset({"back.py"}), base="c0ffee")
    deleted = frozenset({"gone.py", "made.py", "never was"})
    after = before.with_files({"back.py": second}, deleted, in_base)
    assert after == Manifest({"back.py": second}, frozenset({"gone.py"}), "c0ffee")
    assert before.with_files({}, deleted).removed == deleted | {"back.py"}


def test_links_and_files_replace_each_other():
    first = FileEntry("a" * 64, 1)
    before = Manifest(
        {"a": first, "tool": FileEntry("a" * 64, 1, True)}, links={"l": "a", "m": "a"}
    )
    after = before.with_files({"l": first}, frozenset({"m"}), links={"a": "tool", "n": "/etc"})
    assert after.links == {"a": "tool", "n": "/etc"}
    assert after.files == {"l": first, "tool": before.files["tool"]}
    over = Manifest({}, frozenset({"was", "new"}), "c0ffee")
    assert over.with_files({}, frozenset(), links={"new": "a"}).removed == {"was"}


@pytest.mark.parametrize("base", [None, "c0ffee"])
def test_a_manifest_is_restored_from_its_bytes(base):
    files = dict.fromkeys(("files", "removed"), FileEntry("a" * 64, 1))
    files |= {"base": FileEntry("a" * 64, 1, False), "link": FileEntry("a" * 64, 1, True)}
    links = {"links": "base", "to": "link"}
    removed = frozenset({"b", "a"} if base else ())
    manifest = Manifest(files, removed, base, links)
    assert Manifest.read(manifest.dump()) == manifest
    as_link = Manifest({}, removed, base, {"base": "x", "files": "y"})
    assert Manifest.read(as_link.dump()) == as_link
    reversed_links = dict(reversed(links.items()))
    same = Manifest(
        dict(reversed(files.items())), frozenset({"a", "b"} if base else ()), base, reversed_links
    )
    assert same.dump() == manifest.dump()


def test_the_digest_of_a_workspace_without_a_repository_is_unchanged():
    first = FileEntry("a" * 64, 1)
    assert Manifest({"b": first, "a": first}).dump() == (
        b'{"a":["%s",1],"b":["%s",1]}' % (b"a" * 64, b"a" * 64)
    )


@given(st.lists(st.text(max_size=90), max_size=40).map("/".join))
def test_accepted_paths_are_accepted_by_a_sandbox(path):
    try:
        normal = normalize_path(path)
    except PathRefused:
        return
    assert sandbox_paths.fault(normal) is None


def test_all_packages_allow_the_same_characters_in_names():
    def takes(rule, name):
        try:
            return rule(name) == name
        except (PathRefused, PathOutside):
            return False

    for code in [*range(0x3100), 0xD800, 0xDFFF, *range(0xFE00, 0x10000), 0x1F468, 0xE0067]:
        if chr(code) in "./\\":
            continue
        name = f"a{chr(code)}b"
        allowed = sandbox_paths.fault(name) is None
        assert takes(normalize_path, name) == allowed, hex(code)
        assert takes(normalize_agent_path, name) == allowed, hex(code)
    for name in ("Shot 9.41\u202fPM.png", "a\u00a0b", "\u3000", "\U0001f468\u200d\U0001f469"):
        assert takes(normalize_path, name)

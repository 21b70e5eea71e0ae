"""Merging the files of branches: no bytes are lost, and the order does not matter."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.parallel.merging import Conflict, combine_modes, find_texts, merge_branches
from agents.ports import Version
from sandbox import paths as sandbox_paths

BASE = {"a.py": "1", "b.py": "2"}


@pytest.mark.parametrize(
    ("first", "second", "merged"),
    [
        (BASE, BASE, BASE),
        ({**BASE, "a.py": "9"}, BASE, {"a.py": "9", "b.py": "2"}),
        ({**BASE, "a.py": "9"}, {**BASE, "b.py": "8"}, {"a.py": "9", "b.py": "8"}),
        ({**BASE, "c.py": "3"}, {**BASE, "c.py": "3"}, {**BASE, "c.py": "3"}),
        ({"b.py": "2"}, {**BASE, "d/e.py": "4"}, {"b.py": "2", "d/e.py": "4"}),
        ({"b.py": "2"}, {"b.py": "2"}, {"b.py": "2"}),
    ],
)
def test_changes_of_different_files_are_combined(
    first: Mapping[str, str], second: Mapping[str, str], merged: Mapping[str, str]
) -> None:
    result = merge_branches(BASE, {1: first, 2: second})
    assert (result.files, result.conflicts) == (merged, [])


def test_the_second_version_of_a_file_becomes_a_copy_next_to_the_first() -> None:
    result = merge_branches(
        {"src/sums.py": "0"},
        {3: {"src/sums.py": "three"}, 2: {"src/sums.py": "two"}, 4: {"src/sums.py": "three"}},
    )
    assert result.files == {"src/sums.py": "two", "src/sums.conflict-step3.py": "three"}
    assert result.conflicts == [
        Conflict(
            "src/sums.py", (2, 3, 4), ("src/sums.conflict-step3.py",), "changed in different ways"
        )
    ]


def test_combined_texts_replace_the_versions_of_the_branches() -> None:
    old, first, second, both = map(Version, ("0", "1", "2", "12"))
    branches = {2: {"a.py": second, "b.py": old}, 1: {"a.py": first, "b.py": first}}
    base = {"a.py": old, "b.py": old}
    assert find_texts(base, branches) == {"a.py": [old, first, second]}
    result = merge_branches(base, branches, {"a.py": both})
    assert result.files == {"a.py": both, "b.py": first}
    assert (result.combined, result.conflicts) == (["a.py"], [])


@pytest.mark.parametrize(
    ("old", "first", "second"),
    [
        (None, Version("1"), Version("2")),
        (Version("0"), Version("1"), None),
        (Version("0"), Version("1"), Version("", target="b.py")),
        (Version("", target="c.py"), Version("1"), Version("2")),
        (Version("0"), Version("1"), Version("1")),
    ],
)
def test_new_and_removed_files_and_links_are_no_texts_to_merge(
    old: Version | None, first: Version | None, second: Version | None
) -> None:
    base, *branches = (
        {} if version is None else {"a.py": version} for version in (old, first, second)
    )
    assert find_texts(base, dict(enumerate(branches))) == {}


def test_a_combined_text_has_the_mode_that_a_branch_changed() -> None:
    plain, program = Version("0"), Version("1", executable=True)
    assert combine_modes([plain, plain, program]) is True
    assert combine_modes([program, plain, program]) is None
    assert combine_modes([program, program, program]) is True


def test_a_copy_does_not_take_the_name_of_an_existing_file() -> None:
    versions = {step: {"a.py": Version(str(step))} for step in (1, 2)}
    result = merge_branches({}, versions, existing_paths=["a.conflict-step2.py"])
    assert result.files.keys() == {"a.py", "a.conflict-step2-2.py"}


def test_a_directory_replaces_a_file_with_the_same_name() -> None:
    result = merge_branches({}, {1: {"data": "f"}, 2: {"data/x.csv": "x"}})
    assert result.files == {"data.conflict-step1": "f", "data/x.csv": "x"}
    assert [conflict.steps for conflict in result.conflicts] == [(1, 2)]


def test_links_and_modes_are_versions_like_others() -> None:
    plain, program = Version("a"), Version("a", executable=True)
    link, other_link = Version("", target="a.py"), Version("", target="b.py")
    base = {"a.py": plain, "l": link}
    result = merge_branches(
        base, {1: {**base, "a.py": program}, 2: {"a.py": plain, "l": other_link}}
    )
    assert (result.files, result.conflicts) == ({"a.py": program, "l": other_link}, [])
    result = merge_branches(base, {1: {**base, "l": other_link}, 2: {**base, "l": plain}})
    assert result.files == {"a.py": plain, "l": other_link, "l.conflict-step2": plain}


def _possible(files: Mapping[str, str]) -> bool:
    try:
        sandbox_paths.require(files)
    except ValueError:
        return False
    return True


PATHS = st.sampled_from(
    ["a.py", "a.conflict-step1.py", "a.conflict-step2.py", "d", "d/x", "d/x/y", "d.conflict-step2"]
)
MANIFESTS = st.dictionaries(PATHS, st.sampled_from("12345"), max_size=5).filter(_possible)
BRANCHES = st.dictionaries(st.integers(1, 4), MANIFESTS, min_size=1, max_size=4)


@given(MANIFESTS, BRANCHES)
def test_a_merge_loses_no_bytes_and_adds_none(
    base: dict[str, str], branches: dict[int, dict[str, str]]
) -> None:
    result = merge_branches(base, branches)
    sandbox_paths.require(result.files)  # the result is a valid workspace
    for path in {*base}.union(*branches.values()):
        values = {files.get(path) for files in branches.values()}
        changed = values - {base.get(path)} - {None}
        conflicts = [conflict for conflict in result.conflicts if conflict.path == path]
        paths = {path, *(copy for conflict in conflicts for copy in conflict.copies)}
        assert changed <= {result.files.get(copy_or_path) for copy_or_path in paths}
        if values == {base.get(path)} and path in base:
            assert result.files[path] == base[path]
    base_and_branch_bytes = set(base.values()).union(
        *(files.values() for files in branches.values())
    )
    assert set(result.files.values()) <= base_and_branch_bytes

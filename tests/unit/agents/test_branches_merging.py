"""Merging what branches have made: no bytes are lost, and the order does not matter."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.parallel.merging import Conflict, merge_branches
from agents.ports import Version
from sandbox import paths as sandbox_paths

BASE = {"a.py": "1", "b.py": "2"}


@pytest.mark.parametrize(
    ("one", "two", "after"),
    [
        (BASE, BASE, BASE),
        ({**BASE, "a.py": "9"}, BASE, {"a.py": "9", "b.py": "2"}),
        ({**BASE, "a.py": "9"}, {**BASE, "b.py": "8"}, {"a.py": "9", "b.py": "8"}),
        ({**BASE, "c.py": "3"}, {**BASE, "c.py": "3"}, {**BASE, "c.py": "3"}),
        ({"b.py": "2"}, {**BASE, "d/e.py": "4"}, {"b.py": "2", "d/e.py": "4"}),
        ({"b.py": "2"}, {"b.py": "2"}, {"b.py": "2"}),
    ],
)
def test_what_one_has_changed_is_taken(
    one: Mapping[str, str], two: Mapping[str, str], after: Mapping[str, str]
) -> None:
    found = merge_branches(BASE, {1: one, 2: two})
    assert (found.files, found.conflicts) == (after, [])


def test_of_two_versions_the_first_stands_and_the_other_lies_beside_it() -> None:
    found = merge_branches(
        {"src/sums.py": "0"},
        {3: {"src/sums.py": "three"}, 2: {"src/sums.py": "two"}, 4: {"src/sums.py": "three"}},
    )
    assert found.files == {"src/sums.py": "two", "src/sums.conflict-step3.py": "three"}
    assert found.conflicts == [
        Conflict(
            "src/sums.py", (2, 3, 4), ("src/sums.conflict-step3.py",), "changed in different ways"
        )
    ]


def test_a_file_gives_way_to_a_directory() -> None:
    found = merge_branches({}, {1: {"data": "f"}, 2: {"data/x.csv": "x"}})
    assert found.files == {"data.conflict-step1": "f", "data/x.csv": "x"}
    assert [conflict.steps for conflict in found.conflicts] == [(1, 2)]


def test_links_and_modes_are_versions_like_others() -> None:
    plain, program = Version("a"), Version("a", executable=True)
    link, other = Version("", target="a.py"), Version("", target="b.py")
    base = {"a.py": plain, "l": link}
    found = merge_branches(base, {1: {**base, "a.py": program}, 2: {"a.py": plain, "l": other}})
    assert (found.files, found.conflicts) == ({"a.py": program, "l": other}, [])
    found = merge_branches(base, {1: {**base, "l": other}, 2: {**base, "l": plain}})
    assert found.files == {"a.py": plain, "l": other, "l.conflict-step2": plain}


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
def test_no_bytes_are_lost_and_nothing_is_made_up(
    base: dict[str, str], branches: dict[int, dict[str, str]]
) -> None:
    found = merge_branches(base, branches)
    sandbox_paths.require(found.files)  # it is a workspace
    for path in {*base}.union(*branches.values()):
        values = {files.get(path) for files in branches.values()}
        changed = values - {base.get(path)} - {None}
        conflicts = [conflict for conflict in found.conflicts if conflict.path == path]
        places = {path, *(copy for conflict in conflicts for copy in conflict.copies)}
        assert changed <= {found.files.get(place) for place in places}
        if values == {base.get(path)} and path in base:
            assert found.files[path] == base[path]
    known = set(base.values()).union(*(files.values() for files in branches.values()))
    assert set(found.files.values()) <= known

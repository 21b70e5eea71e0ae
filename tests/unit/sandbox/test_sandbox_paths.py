from __future__ import annotations

import posixpath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.paths import DEPTH, PART_BYTES, PATH_BYTES, fault, require

PARTS = st.sampled_from(["a", "..", ".", "", "b.py", "\n", "\udcff", "\0", "é", "x" * 300])


@pytest.mark.parametrize(
    "path", ["a", "a/b.py", ".hidden", "a b", "é/日本", "a\u200fb", "..a", "-rf", "a\\b"]
)
def test_plain_relative_paths_are_valid(path: str) -> None:
    assert fault(path) is None
    require([path])


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("", "plainly relative"),
        ("/a", "plainly relative"),
        ("a//b", "plainly relative"),
        ("../a", "plainly relative"),
        ("a\nb", "control"),
        ("a\0", "control"),
        ("c1\x9b31m.png", "control"),
        ("a\u2028b", "display"),
        ("photo\u202egnp.py", "display"),
        ("\udcff", "UTF-8"),
        ("x" * (PART_BYTES + 1), "too long"),
        ("/".join("a" * (DEPTH + 1)), "too deep"),
        ("/".join(["x" * 200] * (PATH_BYTES // 200 + 1)), "too long"),
    ],
)
def test_other_paths_are_refused_with_the_reason(path: str, reason: str) -> None:
    assert reason in (fault(path) or "")
    with pytest.raises(ValueError, match="not a workspace path"):
        require([path])


@given(st.lists(PARTS, max_size=5).map("/".join))
def test_valid_paths_stay_below_the_workspace(path: str) -> None:
    if fault(path) is None:
        assert posixpath.normpath(posixpath.join("/work", path)) == "/work/" + path
        path.encode()


@given(st.sets(st.lists(st.sampled_from("ab"), min_size=1, max_size=4).map("/".join)))
def test_a_file_is_never_also_a_directory(names: set[str]) -> None:
    clash = any(other.startswith(name + "/") for name in names for other in names)
    if clash:
        with pytest.raises(ValueError, match="at once"):
            require(names)
    else:
        require(names)

"""Paths as the tools take them."""

from __future__ import annotations

import pytest

from agents.errors import PathOutside
from agents.paths import checked, in_workspace, listing, objection
from agents.runs.record import still_there
from sandbox.protocol import Limits

FILES = {"a.py": 1, "out/x.txt": 2, "out/deep/y.txt": 3}


@pytest.mark.parametrize(
    ("path", "normal"), [("a.py", "a.py"), ("./a.py", "a.py"), ("out/./x", "out/x"), ("a b", "a b")]
)
def test_a_path_has_one_normal_form(path: str, normal: str) -> None:
    assert checked(path) == normal


@pytest.mark.parametrize(
    "path", ["", ".", "/etc/passwd", "../a", "a/../b", "a//b", "a/", "a\\b", "a\nb", "é" * 121]
)
def test_a_path_cannot_leave(path: str) -> None:
    with pytest.raises(PathOutside):
        checked(path)


def test_the_room_s_own_name_for_the_workspace_is_understood() -> None:
    assert in_workspace("/work/out/x.txt") == "out/x.txt"
    assert in_workspace("/workshop/x.txt") == "/workshop/x.txt"


@pytest.mark.parametrize(
    ("path", "names"),
    [
        (".", ["a.py", "out/"]),
        ("", ["a.py", "out/"]),
        ("/work", ["a.py", "out/"]),
        ("out", ["deep/", "x.txt"]),
        ("./out/", ["deep/", "x.txt"]),
        ("/work/out", ["deep/", "x.txt"]),
        ("a.py", None),
        ("ou", None),
    ],
)
def test_a_directory_is_listed(path: str, names: list[str] | None) -> None:
    assert listing(FILES, path) == names


def test_what_would_stop_the_next_run_is_refused() -> None:
    limits = Limits(file_bytes=10, workspace_bytes=14, workspace_files=4)
    assert objection(FILES, {"b.py": 8}, limits) is None
    assert "a file and a directory at once" in str(objection(FILES, {"a.py/b": 1}, limits))
    assert "a file and a directory at once" in str(objection(FILES, {"out": 1}, limits))
    assert objection(FILES, {"b.py": 11}, limits) == "11 bytes; a file has at most 10"
    assert "14 bytes" in str(objection(FILES, {"b.py": 9}, limits))
    assert "4 files" in str(objection({**FILES, "c": 1}, {"b.py": 1}, limits))
    assert "too deep" in str(objection(FILES, {"/".join("d" * 40): 1}, limits))


def test_artifacts_are_the_latest_versions_that_are_left() -> None:
    def artifact(name: str, digest: str) -> dict[str, str]:
        return {"name": name, "digest": digest}

    before = {name: artifact(name, "old") for name in ("a", "b", "gone")}
    made = [artifact("b", "new"), artifact("c", "older"), artifact("c", "new")]
    after = still_there(before, made, {"a": 1, "b": 1, "c": 1, "given": 1})
    assert {name: each["digest"] for name, each in after.items()} == {
        "a": "old", "b": "new", "c": "new",
    }  # fmt: skip

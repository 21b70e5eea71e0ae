"""Paths as the tools take them."""

from __future__ import annotations

import pytest

from agents.errors import PathOutside
from agents.paths import checked, listing, objection
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

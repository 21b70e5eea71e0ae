"""The paths that the tools accept."""

from __future__ import annotations

import pytest

from agents.errors import PathOutside
from agents.paths import in_workspace, listing, normalize_path, objection, visible
from api.http.foreign_text import visible_path
from sandbox.protocol import Limits

FILES = {"a.py": 1, "out/x.txt": 2, "out/deep/y.txt": 3}


@pytest.mark.parametrize(
    ("path", "normal"), [("a.py", "a.py"), ("./a.py", "a.py"), ("out/./x", "out/x"), ("a b", "a b")]
)
def test_a_path_has_one_normal_form(path: str, normal: str) -> None:
    assert normalize_path(path) == normal


@pytest.mark.parametrize(
    "path", ["", ".", "/etc/passwd", "../a", "a/../b", "a//b", "a/", "a\\b", "a\nb", "é" * 121]
)
def test_a_path_cannot_leave(path: str) -> None:
    with pytest.raises(PathOutside):
        normalize_path(path)


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


def test_a_write_that_would_stop_the_next_run_is_refused() -> None:
    limits = Limits(file_bytes=10, workspace_bytes=14, workspace_files=4)
    assert objection(FILES, {"b.py": 8}, limits) is None
    assert "a file and a directory at once" in str(objection(FILES, {"a.py/b": 1}, limits))
    assert "a file and a directory at once" in str(objection(FILES, {"out": 1}, limits))
    assert objection(FILES, {"b.py": 11}, limits) == "11 bytes; a file has at most 10"
    assert "14 bytes" in str(objection(FILES, {"b.py": 9}, limits))
    assert "4 files" in str(objection({**FILES, "c": 1}, {"b.py": 1}, limits))
    assert "too deep" in str(objection(FILES, {"/".join("d" * 40): 1}, limits))


def test_invisible_characters_are_shown_and_accepted_in_escaped_form() -> None:
    for code in [*range(0xA0, 0xD800), *range(0xE000, 0x20000), *range(0xE0000, 0xE0200)]:
        name = f"a{chr(code)}b"
        assert visible(name) == visible_path(name), hex(code)
        assert in_workspace(visible(name)) == name, hex(code)
    assert visible("Shot 9.41\u202fPM.png") == "Shot 9.41\\u202fPM.png"
    assert visible("\U0001f468\u200d\U0001f469") == "\U0001f468\\u200d\U0001f469"
    assert in_workspace("/work/a\\x2db") == "a\\x2db"  # a visible character
    assert in_workspace("\\Uffffffff") == "\\Uffffffff"

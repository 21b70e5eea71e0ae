"""Functions of the programs that run inside a sandbox."""

from __future__ import annotations

import pytest

from agents.sandbox_programs.searching import matches_glob


@pytest.mark.parametrize(
    ("path", "glob", "expected"),
    [
        ("src/deep/a.py", "*.py", True),
        ("src/a.py", "src/*.py", True),
        ("src/deep/a.py", "src/*.py", False),
        ("src/a.py", "src/**/*.py", True),
        ("src/deep/er/a.py", "src/**/*.py", True),
        ("deep/a.py", "**/deep/*", True),
        ("src.py", "src/**", False),
        ("a.py", "/a.py", True),
        ("a[1].py", "a[[]1].py", True),
        ("a/b/c", "b/c", False),
    ],
)
def test_globs(path: str, glob: str, expected: bool) -> None:
    assert matches_glob(path, glob) is expected

from __future__ import annotations

import pytest

from agents.checks.notices import MOST_BYTES, MOST_NOTICES, notices


def found(source: str, path: str = "solution.py") -> list[tuple[int, str]]:
    return [(each.line, each.what) for each in notices({path: source.encode()})]


@pytest.mark.parametrize(
    ("source", "what"),
    [
        ("import pytest", ["pytest"]),
        ("from inspect import stack", ["inspect"]),
        ("import importlib\nimportlib.import_module('ctypes')", ["ctypes"]),
        ("__import__('builtins')", ["builtins"]),
        ("import sys\nsys.settrace(1); sys.setprofile(2)", ["sys.setprofile", "sys.settrace"]),
        ("from sys import _getframe as f, path", ["sys._getframe"]),
        ("def f(e):\n    return e.tb_frame.f_back.f_locals", ["f_back", "f_locals", "tb_frame"]),
        ("import sys\nprint(sys.argv, sys.path, gcd(2, 4), 'gc')", []),
        ("from .inspect import look", []),
        ("def broken(", []),
    ],
)
def test_what_tests_are_run_with_is_noticed(source: str, what: list[str]) -> None:
    assert sorted(name for _, name in found(source)) == what


def test_the_works_own_tests_and_the_checks_are_left_out() -> None:
    source = b"import pytest\n"
    own = dict.fromkeys(("test_a.py", "t/b_test.py", "conftest.py", "check.py", "a.txt"), source)
    assert notices(own, ["check.py"]) == ()


def test_notices_are_bounded() -> None:
    many = {f"{number:03}.py": b"import gc\n" for number in range(100)}
    assert len(notices(many)) == MOST_NOTICES
    (large,) = notices({"a.py": b"#" * (MOST_BYTES + 1), "b.txt": b"import gc"})
    assert (large.file, large.line, large.what) == ("a.py", 1, "too large to be checked")

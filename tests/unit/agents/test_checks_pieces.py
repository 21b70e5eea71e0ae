from __future__ import annotations

import pytest

from agents.checks.checks import plan
from agents.checks.copied_files import files_under_test
from agents.checks.supervised.expected import expected
from agents.ports.checks import Checks


def names(source: str) -> list[tuple[str, int | None, bool]]:
    return [(each.name, each.cases, each.may_skip) for each in expected("t.py", source)]


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("def test_a(): pass\ndef helper(): pass", [("t.py::test_a", 1, False)]),
        ("async def test_a(): pass", [("t.py::test_a", 1, False)]),
        ("import pytest\n@pytest.fixture\ndef test_data(): pass", []),
        ("@fixture(scope='module')\ndef test_data(): pass", []),
        ("@p.mark.usefixtures('db')\ndef test_a(): pass", [("t.py::test_a", 1, False)]),
        (
            "@p.mark.parametrize('p', ['fixtures/a.txt'])\ndef test_a(p): pass",
            [("t.py::test_a", 1, False)],
        ),
        ("class TestA:\n  def test_b(self): pass", [("t.py::TestA::test_b", 1, False)]),
        ("class TestA:\n  def __init__(self): pass\n  def test_b(self): pass", []),
        (
            "import unittest as u\nclass Sums(u.TestCase):\n  def test_b(self): pass",
            [("t.py::Sums::test_b", 1, False)],
        ),
        (
            "class Base:\n  def test_b(self): pass\nclass TestA(Base):\n  def test_c(self): pass",
            [("t.py::TestA::test_c", 1, False), ("t.py::TestA::test_b", 1, False)],
        ),
        ("@p.mark.parametrize('a', [1, 2])\ndef test_a(a): pass", [("t.py::test_a", 2, False)]),
        (
            (
                "@p.mark.parametrize('a', (1, 2))\n@p.mark.parametrize('b', [1, 2, 3])\n"
                "def test_a(a, b): pass"
            ),
            [("t.py::test_a", 6, False)],
        ),
        ("@p.mark.parametrize('a', CASES)\ndef test_a(a): pass", [("t.py::test_a", None, False)]),
        ("@p.mark.parametrize('a', [*X])\ndef test_a(a): pass", [("t.py::test_a", None, False)]),
        (
            "@p.mark.parametrize('a', [1])\nclass TestA:\n  def test_b(self): pass",
            [("t.py::TestA::test_b", None, False)],
        ),
        ("@p.mark.skipif(True)\ndef test_a(): pass", [("t.py::test_a", 1, True)]),
        (
            "class A(TestCase):\n  @unittest.expectedFailure\n  def test_b(self): pass",
            [("t.py::A::test_b", 1, True)],
        ),
        ("pytestmark = p.mark.xfail\ndef test_a(): pass", [("t.py::test_a", 1, True)]),
        ("def test_a(): pass\ndef test_a(): pass", [("t.py::test_a", 1, False)]),
        (
            "class TestA:\n  pytestmark = [p.mark.skip]\n  def test_b(self): pass",
            [("t.py::TestA::test_b", 1, True)],
        ),
        (
            (
                "class TestBase:\n  __test__ = False\n  def test_b(self): pass\n"
                "class TestA(TestBase):\n  __test__ = True"
            ),
            [("t.py::TestA::test_b", 1, False)],
        ),
    ],
)
def test_the_source_tells_which_tests_there_must_be(
    source: str, found: list[tuple[str, int | None, bool]]
) -> None:
    assert names(source) == found


FILES = {"test_a.py": "", "tests/test_b.py": "", "run.py": ""}


@pytest.mark.parametrize("command", ["", "  ", "pytest 'x"])
def test_a_command_that_is_none_is_refused(command: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        plan(Checks(FILES, command))


def test_a_copy_gives_way_to_checks_and_holds_nothing_that_bends_them() -> None:
    files = {
        **dict.fromkeys(("solution.py", "data/x.csv", "pyproject.toml", "tests/old.py"), b""),
        **dict.fromkeys(("test_a.py", "tests/conftest.py", "conftest/__init__.py"), b""),
        **dict.fromkeys(("sub/pytest.ini", "sitecustomize.py", "usercustomize/__init__.py"), b""),
        **dict.fromkeys(("a.pth", "__pycache__/a.pyc", "x.pyc", "sitecustomize.cpython.so"), b""),
        **dict.fromkeys(("q-1.dist-info/entry_points.txt", "deep", "flat/inner.py"), b""),
        **dict.fromkeys(("test_a/__init__.py", "test_a/data.csv"), b""),
    }
    kept = files_under_test(files, ["test_a.py", "deep/test_b.py", "flat"])
    assert sorted(kept) == [
        "data/x.csv",
        "pyproject.toml",
        "solution.py",
        "test_a/data.csv",
        "tests/old.py",
    ]

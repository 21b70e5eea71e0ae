"""Which files are replaced, to see whether a verification notices."""

from __future__ import annotations

import pytest

from agents.evidence.experiment import groups

MANY = ["a.py", "b.py", "c.py", "d.py", "e.py"]


@pytest.mark.parametrize(
    ("sources", "command", "expected"),
    [
        (["a.py"], "pytest", [["a.py"]]),
        (["a.py", "b.py"], "pytest", [["a.py", "b.py"]]),
        # what the command names is its driver: the others are replaced
        (["a.py", "check.py"], "python check.py", [["a.py"]]),
        (["a.py", "b.py", "main.py"], "python -m main", [["a.py", "b.py"]]),
        (["s/core.py", "s/__init__.py"], "python -c 'import s.core'", [["s/__init__.py"]]),
        (["Makefile", "a.c"], "make test", [["a.c"]]),
        # where it names them all, each is replaced alone
        (["a.py", "b.py"], "python a.py b.py", [["a.py"], ["b.py"]]),
        (MANY, f"python -m compileall {' '.join(MANY)}", [MANY]),
        # tests are part of the verification, unless there is nothing else
        (["a.py", "test_a.py", "tests/conftest.py"], "pytest", [["a.py"]]),
        (["test_a.py"], "pytest", [["test_a.py"]]),
        # a name within a word names nothing
        (["a.py", "b.py"], "python data.py", [["a.py", "b.py"]]),
    ],
)  # fmt: skip
def test_the_drivers_of_a_command_stay(
    sources: list[str], command: str, expected: list[list[str]]
) -> None:
    assert groups(sources, sources, command) == expected


def test_where_only_tests_were_made_what_they_test_is_replaced() -> None:
    assert groups(["test_a.py"], ["a.py", "test_a.py"], "pytest") == [["a.py"]]

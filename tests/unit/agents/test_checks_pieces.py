from __future__ import annotations

import pytest

from agents.checks.command import command_of
from agents.checks.copied_files import tree_under_test
from agents.ports.checks import Checks
from agents.tree import Tree

FILES = {"test_a.py": "", "tests/test_b.py": "", "run.py": ""}

OWN = "-c /dev/null --rootdir . --continue-on-collection-errors"
LAST = "--maxfail=0 --verbosity=1"
ALL = "test_a.py tests/test_b.py"


@pytest.mark.parametrize(
    ("command", "argv"),
    [
        (None, f"python -m pytest {OWN} {LAST} {ALL}"),
        ("pytest", f"pytest {OWN} {LAST} {ALL}"),
        ("python3.12 -u -m pytest -x -q .", f"python -u -m pytest {OWN} -x -q {LAST} {ALL}"),
        ("pytest --basetemp . --tb=no .", f"pytest {OWN} --basetemp . --tb=no {LAST} {ALL}"),
        ("pytest -k a tests", f"pytest {OWN} -k a tests {LAST}"),
        ("pytest -q -- test_a.py::test_x", f"pytest {OWN} -q {LAST} -- test_a.py::test_x"),
        ("python -m unittest", f"python -m pytest {OWN} {LAST} {ALL}"),
        ("python -m unittest discover -v", f"python -m pytest {OWN} {LAST} {ALL}"),
        (
            "python3 -m unittest -q tests.test_b.A",
            f"python -m pytest {OWN} tests/test_b.py::A {LAST}",
        ),
    ],
)
def test_pytest_runs_the_checks_and_reports_each_test(command: str | None, argv: str) -> None:
    planned = command_of(Checks(FILES, command))
    assert (" ".join(planned.argv), planned.is_pytest) == (argv, True)


@pytest.mark.parametrize("command", ["python run.py a", "python -m unittest discover -s x", "make"])
def test_only_the_exit_code_of_other_programs_is_known(command: str) -> None:
    planned = command_of(Checks(FILES, command))
    assert (" ".join(planned.argv), planned.is_pytest) == (command, False)


def test_settings_come_from_the_checks() -> None:
    planned = command_of(Checks({**FILES, "pytest.ini": "[pytest]\n"}))
    assert planned.argv[3:5] == ("-c", "pytest.ini")


def test_on_a_commit_pytest_finds_its_settings_unless_the_checks_have_them() -> None:
    assert "-c" not in command_of(Checks(FILES), on_commit=True).argv
    with_settings = Checks({**FILES, "pytest.ini": ""})
    assert command_of(with_settings, on_commit=True) == command_of(with_settings)


def test_without_a_test_name_each_python_file_is_collected() -> None:
    files = {"run.py": "", "conftest.py": "", "data.txt": "", "sub/__init__.py": ""}
    assert command_of(Checks(files)).argv[-2:] == ("--verbosity=1", "run.py")


@pytest.mark.parametrize("command", ["", "  ", "pytest 'x"])
def test_an_invalid_command_is_refused(command: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        command_of(Checks(FILES, command))


def test_a_copy_omits_configuration_and_files_that_the_checks_replace() -> None:
    files = {
        **dict.fromkeys(("solution.py", "data/x.csv", "pyproject.toml", "tests/old.py"), b""),
        **dict.fromkeys(("test_a.py", "tests/conftest.py", "conftest/__init__.py"), b""),
        **dict.fromkeys(("sub/pytest.ini", "sitecustomize.py", "usercustomize/__init__.py"), b""),
        **dict.fromkeys(("a.pth", "__pycache__/a.pyc", "x.pyc", "sitecustomize.cpython.so"), b""),
        **dict.fromkeys(("q-1.dist-info/entry_points.txt", "deep", "flat/inner.py"), b""),
        **dict.fromkeys(("test_a/__init__.py", "test_a/data.csv"), b""),
    }
    copy = tree_under_test(Tree(files), ["test_a.py", "deep/test_b.py", "flat"])
    assert sorted(copy.files) == [
        "data/x.csv",
        "pyproject.toml",
        "solution.py",
        "test_a/data.csv",
        "tests/old.py",
    ]

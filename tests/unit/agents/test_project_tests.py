"""Which command runs a project's tests, by its own configuration."""

from __future__ import annotations

import json

import pytest

from agents.runs.project_tests import project_tests

ALL = ("npm", "cargo", "go", "make")
PACKAGE = json.dumps({"scripts": {"test": "node --test"}})
UNWRITTEN = json.dumps({"scripts": {"test": 'echo "Error: no test specified" && exit 1'}})


@pytest.mark.parametrize(
    ("paths", "texts", "words"),
    [
        ((), {"pytest.ini": ""}, "pytest"),
        ((), {"pyproject.toml": "[project]\n[tool.pytest.ini_options]\n"}, "pytest"),
        ((), {"setup.cfg": "[tool:pytest]\n"}, "pytest"),
        ((), {"tox.ini": "[testenv]\ncommands = pytest {posargs}\n"}, "pytest"),
        (("tests/unit/test_a.py",), {"Makefile": "test:\n\tpytest\n"}, "pytest"),
        (("test_a.py",), {}, "pytest"),
        (("app/test_data.py",), {}, ""),
        ((), {"package.json": PACKAGE, "Makefile": "test: build\n"}, "npm test"),
        ((), {"package.json": UNWRITTEN}, ""),
        ((), {"package.json": "{"}, ""),
        ((), {"package.json": "[]"}, ""),
        ((), {"Cargo.toml": ""}, "cargo test"),
        ((), {"go.mod": ""}, "go test ./..."),
        ((), {"Makefile": "all:\n\ntest:\n\t./check\n"}, "make test"),
        ((), {"Makefile": "test := 1\n"}, ""),
        ((), {"pyproject.toml": "[project]\n"}, ""),
    ],
)
def test_the_configuration_names_the_command(
    paths: tuple[str, ...], texts: dict[str, str], words: str
) -> None:
    assert " ".join(project_tests((*paths, *texts), texts, ALL)) == words


def test_a_program_that_the_sandbox_lacks_is_not_named() -> None:
    texts = {"package.json": PACKAGE, "Cargo.toml": "", "go.mod": "", "Makefile": "test:\n"}
    assert project_tests(texts, texts, ()) == ()
    assert project_tests(texts, texts, ("make",)) == ("make", "test")

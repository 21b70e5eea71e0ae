"""Which command runs a project's tests: by its own configuration, or by its CI configuration."""

from __future__ import annotations

import json
import time

import pytest

from agents.runs.project_tests import configuration_paths, project_tests, suite_layout

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


WORKFLOW = """\
on: push
jobs:
  tests:
    steps:
      - uses: actions/checkout@v4
      - run: pip install -e . && pytest
      - run: pytest ${{ matrix.args }}
      - name: pytest
        run: |
          echo begin
          %s
      - run: make test
"""


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("pytest -q lib/checks", "pytest -q lib/checks"),
        ("python -m pytest --maxfail=1", "python -m pytest --maxfail=1"),
        ("npm test -- --ci", "npm test -- --ci"),
        ("cargo test --workspace", "cargo test --workspace"),
        ("go test ./...", "go test ./..."),
        ("tox -e py311", "make test"),
        ("python -m build", "make test"),
        ("npm install", "make test"),
        ("pytest | tee log", "make test"),
        ("pytest; true", "make test"),
        ("pytest $ARGS", "make test"),
        ("pytest-cov", "make test"),
    ],
)
def test_the_first_plain_command_in_the_ci_counts(call: str, words: str) -> None:
    texts = {".github/workflows/ci.yml": WORKFLOW % call}
    assert " ".join(project_tests(texts, texts, ALL)) == words


def test_the_ci_comes_after_the_configuration_and_few_of_its_files_are_read() -> None:
    gitlab = {".gitlab-ci.yml": "a:\n  script: pytest lib\nb:\n  script:\n    - make test\n"}
    assert project_tests(gitlab, gitlab, ALL) == ("pytest", "lib")
    both = {**gitlab, "Cargo.toml": ""}
    assert project_tests(both, both, ALL) == ("cargo", "test")
    assert project_tests((), {".github/workflows/a.yml": "- run: go test\n"}, ()) == ()
    workflows = [f".github/workflows/{number}.yaml" for number in range(500)]
    assert (
        len(configuration_paths(["go.mod", ".gitlab-ci.yml", "ci/.gitlab-ci.yml", *workflows]))
        == 21
    )
    assert configuration_paths(["ci/.gitlab-ci.yml", ".github/workflows/a/b.yml", "a.yml"]) == ()


def test_long_lines_of_the_ci_are_read_quickly() -> None:
    started_at = time.monotonic()
    for line in (" " * 250_000, "- " * 125_000, "pytest" + " a" * 125_000, "\n" * 250_000):
        assert project_tests((), {".gitlab-ci.yml": f"{line}\n"}, ALL) == ()
    assert time.monotonic() - started_at < 5


UNIT = ("tests/unit/test_a.py", "tests/unit/test_b.py", "tests/slow/test_c.py")


@pytest.mark.parametrize(
    ("paths", "texts", "directories", "names"),
    [
        (UNIT, {}, ["tests/unit", "tests/slow"], ["test_*.py", "*_test.py"]),
        (("a.py", "test_a.py"), {}, [""], None),
        (("a.py",), {}, ["tests"], None),
        (
            UNIT,
            {"pytest.ini": "[pytest]\ntestpaths =\n  tests/slow\n  gone\n"},
            ["tests/slow"],
            None,
        ),
        (UNIT, {"setup.cfg": "[tool:pytest]\ntestpaths = tests\n"}, ["tests"], None),
        (
            ("spec/check_a.py", *UNIT),
            {"pyproject.toml": '[tool.pytest.ini_options]\npython_files = ["check_*.py"]\n'},
            ["spec"],
            ["check_*.py"],
        ),
        (UNIT, {"pyproject.toml": "[tool.pytest]\ntestpaths = ['tests/']\n"}, ["tests"], None),
        (UNIT, {"pyproject.toml": "[tool", "tox.ini": "[pytest]\ntestpaths = 'x\n"}, None, None),
    ],
)
def test_the_layout_of_the_tests(
    paths: tuple[str, ...],
    texts: dict[str, str],
    directories: list[str] | None,
    names: list[str] | None,
) -> None:
    layout = suite_layout(paths, texts)
    assert list(layout.directories) == (directories or ["tests/unit", "tests/slow"])
    assert list(layout.names) == (names or ["test_*.py", "*_test.py"])


def test_a_new_file_of_tests_gets_a_path_in_the_layout() -> None:
    paths = (*UNIT, "app/tests/__init__.py", "app/tests/test_d.py", "lib/test_e.py")
    layout = suite_layout(paths, {})
    placed = {path: layout.normal_path(path) for path in ("test_n.py", "tests/slow/x/test_n.py")}
    assert placed == {
        "test_n.py": "tests/unit/test_n.py",
        "tests/slow/x/test_n.py": "tests/slow/x/test_n.py",
    }
    free = [
        path
        for path in (
            "tests/unit/test_n.py",
            "tests/unit/n_test.py",
            "tests/unit/test_a.py",
            "tests/slow/test_a.py",
            "app/tests/test_a.py",
            "tests/unit/n.py",
        )
        if layout.is_free(path, paths)
    ]
    assert free == ["tests/unit/test_n.py", "tests/unit/n_test.py", "app/tests/test_a.py"]

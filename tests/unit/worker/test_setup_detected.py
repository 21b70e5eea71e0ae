"""Which command installs a project's dependencies, by its own files."""

from __future__ import annotations

import time

import pytest

from worker.repositories.setups.detected import Setup, detect_setup, setup_files

TEST_EXTRA = """\
[build-system]
requires = ["setuptools"]
[project]
name = "a"
version = "1"
[project.optional-dependencies]
docs = ["sphinx"]
dev = ["ruff"]
test = ["pytest"]
"""
GROUPS = '[project]\nname = "a"\nversion = "1"\n[dependency-groups]\ntest = ["pytest"]\nlint = []\n'
ONLY_TOOLS = "[tool.ruff]\nline-length = 100\n"
ONLY_NAMED = '[project]\nname = "a"\nversion = "1"\n'
SETUP_CFG = "[metadata]\nname = a\n[options.extras_require]\ntesting = pytest\n"


def detected_setup(files: dict[str, str], *programs: str) -> Setup | None:
    texts = {path: files[path] for path in setup_files({path: len(files[path]) for path in files})}
    return detect_setup(files, texts, programs)


@pytest.mark.parametrize(
    ("files", "command", "paths"),
    [
        ({"requirements.txt": "a\n"}, "pip install -r requirements.txt", ("requirements.txt",)),
        (
            {
                "requirements-dev.txt": (
                    "-r requirements.txt\n-c requirements/pins.txt\nb[c]>=1; python_version < '4'\n"
                ),
                "requirements.txt": "a==1 --hash=sha256:00 \\\n  --hash=sha256:11  # why\n",
                "requirements-docs.txt": "sphinx\n",
                "requirements/pins.txt": "a<2\n",
                "notes.txt": "no list",
            },
            "pip install -r requirements-dev.txt -r requirements.txt",
            ("requirements-dev.txt", "requirements.txt", "requirements/pins.txt"),
        ),
        ({"requirements.txt": "-e .\n"}, "pip install -r requirements.txt", ()),
        ({"requirements.txt": "./wheels/a.whl\n"}, "pip install -r requirements.txt", ()),
        ({"requirements.txt": "git+https://x/y\n"}, "pip install -r requirements.txt", ()),
        ({"requirements.txt": "a @ https://x/a.zip\n"}, "pip install -r requirements.txt", ()),
        ({"requirements.txt": "--index-url x\n"}, "pip install -r requirements.txt", ()),
        ({"requirements.txt": "a; ('1'\n"}, "pip install -r requirements.txt", ()),
        (
            {"requirements.txt": "b-1-py3-none-any.whl\n", "b-1-py3-none-any.whl": ""},
            "pip install -r requirements.txt",
            (),
        ),
        (
            {"requirements.txt": "--constraint=pin-constraints.txt", "pin-constraints.txt": "b"},
            "pip install -r requirements.txt",
            ("pin-constraints.txt", "requirements.txt"),
        ),
        ({"requirements.txt": "a\n" * 99_999}, "pip install -r requirements.txt", ()),
        ({"setup.py": " " * 99_999}, "pip install -e .", ()),
        ({"requirements.txt": "-r gone.txt\n"}, "pip install -r requirements.txt", ()),
        ({"pyproject.toml": TEST_EXTRA}, "pip install -e '.[test,dev]'", ()),
        ({"pyproject.toml": GROUPS}, "pip install -e . --group test", ()),
        ({"setup.py": ""}, "pip install -e .", ()),
        ({"setup.py": "", "setup.cfg": SETUP_CFG}, "pip install -e '.[testing]'", ()),
        (
            {"requirements.txt": "a", "pyproject.toml": ONLY_NAMED},
            "pip install -r requirements.txt",
            ("requirements.txt",),
        ),
        (
            {"requirements.txt": "a", "pyproject.toml": TEST_EXTRA},
            "pip install -r requirements.txt -e '.[test,dev]'",
            (),
        ),
        ({"package.json": "{}", "package-lock.json": "{}"}, "npm ci", ()),
        (
            {"package.json": "{}", "package-lock.json": "{}", "requirements.txt": "a"},
            "pip install -r requirements.txt && npm ci",
            (),
        ),
    ],
)
def test_a_command_is_found(files: dict[str, str], command: str, paths: tuple[str, ...]) -> None:
    assert detected_setup(files, "npm") == Setup(command, paths)


@pytest.mark.parametrize(
    "files",
    [
        {"README.md": "pip install a"},
        {"pyproject.toml": ONLY_TOOLS},
        {"pyproject.toml": "[project"},
        {"pyproject.toml": f"{ONLY_NAMED}x = {'[' * 9_999}"},
        {"pyproject.toml": f"{ONLY_NAMED}x = {'1' * 5_000}"},
        {"pyproject.toml": f"{ONLY_NAMED}{'#' * 65_536}"},
        {"package.json": "{}"},
        {"docs/requirements.txt": "sphinx"},
    ],
)
def test_no_command_is_found(files: dict[str, str]) -> None:
    assert detected_setup(files, "npm") is None


def test_a_program_that_the_sandbox_lacks_is_not_called() -> None:
    assert detected_setup({"package.json": "{}", "package-lock.json": "{}"}) is None


DEEP = "[" + "a." * 49 + "a]\n" + "".join(f"{n:x}.a=1\n" for n in range(7_000))


@pytest.mark.parametrize(
    "files",
    [
        {"requirements.txt": "a" + " " * 100_000 + "@x"},
        {"requirements.txt": "-r" + "=" * 100_000 + " x x"},
        {"requirements.txt": "a>=1" + ",>=1" * 30_000},
        {"requirements.txt": "a[" + "b," * 60_000},
        {"requirements.txt": "a; " + "(" * 100_000},
        {"requirements.txt": "a<1\n" * 32_000},
        {f"requirements/{n}.txt": "a\n" * 50_000 for n in range(99)}
        | {"requirements.txt": "".join(f"-r requirements/{n}.txt\n" for n in range(10, 50))},
        {"pyproject.toml": "a." * 32_000 + "a=1"},
        {"pyproject.toml": DEEP},
        {"pyproject.toml": "x = {" + "a." * 32_000 + "a=1}"},
        {"setup.py": "", "setup.cfg": "[options.extras_require]\na" + " " * 60_000 + "b"},
    ],
)
def test_any_file_is_read_quickly(files: dict[str, str]) -> None:
    """A parser with quadratic time would need minutes for some of these files."""
    started = time.process_time()
    detected_setup(files, "npm")
    assert time.process_time() - started < 5

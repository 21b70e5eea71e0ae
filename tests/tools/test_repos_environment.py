"""A task's environment: the requests to pip, and the search for its project. Pure."""

from __future__ import annotations

import pytest

from lab.evals.repos.environment.backends import BuildBackend
from lab.evals.repos.environment.environments import Environment, over
from lab.evals.repos.environment.packages import NoPackages, requirements, setup_command
from lab.evals.repos.environment.project import (
    FOLDER,
    Installed,
    declared,
    missing_requirements,
    unversioned,
)


def test_requirements():
    setup = [
        "attrs==23.2.0",
        "  pytest-cov==5.0.0 ; python_version >= '3.8'  # measures",
        "six==1.16.0 --hash=sha256:" + 64 * "a",
        "",
        "# a comment",
        ".",
        "-e .",
    ]
    pinned = [
        "attrs==23.2.0",
        "pytest-cov==5.0.0 ; python_version >= '3.8'",
        "six==1.16.0 --hash=sha256:" + 64 * "a",
    ]
    assert requirements(setup) == (pinned, [])
    assert requirements([]) == ([], [])


@pytest.mark.parametrize("line", [".[test, docs]", "-e .[test,docs]", "-e './[test,docs]'"])
def test_extras_of_the_project(line):
    assert requirements([line]) == ([], ["test", "docs"])


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("--index-url https://git.example/simple", "is no requirement"),
        ("-r requirements.txt", "is no requirement"),
        ("x @ file:///etc", "comes from the index"),
        ("-e ../other", "is no requirement"),
    ],
)
def test_an_invalid_requirement_is_refused(line, reason):
    with pytest.raises(NoPackages, match=reason):
        requirements([line])


def test_a_project_that_declares_its_name_and_version():
    text = b"""\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "My.Shop"
version = "1.0"
dependencies = ["attrs"]
[project.scripts]
shop = "my_shop.cli:main"
"""
    declaration = declared(text, {"pyproject.toml", "src/my_shop/__init__.py"})
    assert isinstance(declaration, Installed)
    assert declaration.roots == ("/work/src", "/work")
    folder = f"{FOLDER}/My_Shop-1.0.dist-info"
    metadata = declaration.files[f"{folder}/METADATA"].decode()
    assert metadata.splitlines()[1:] == ["Name: My.Shop", "Version: 1.0", "Requires-Dist: attrs"]
    scripts = declaration.files[f"{folder}/entry_points.txt"].decode()
    assert scripts == "[console_scripts]\nshop = my_shop.cli:main\n"


@pytest.mark.parametrize(
    ("text", "entries", "backend"),
    [
        (None, {"setup.py"}, BuildBackend()),
        (b"[project]\nname='a'\ndynamic=['version']\n", {"a.py"}, BuildBackend()),
        (
            b"""[build-system]
requires = ['flit_core']
build-backend = 'flit_core.buildapi'
[project]
name = 'a'
version = '1'
""",
            {"lib/a.py"},  # its backend knows the location of its module
            BuildBackend("flit_core.buildapi", (), ("flit_core",)),
        ),
    ],
)
def test_a_project_that_has_to_be_built(text, entries, backend):
    assert declared(text, entries) == backend


@pytest.mark.parametrize("text", [None, b"[tool.pytest.ini_options]\n", b"\xff", b"not toml ="])
def test_files_that_are_no_project(text):
    assert declared(text, {"a.py"}) == Installed()


def test_the_requirements_of_the_project_besides_the_pinned_packages():
    text = b"""\
[project]
name = "My.Shop"
version = "1.0"
dependencies = ["attrs>=20", "tomli>=1; python_version < '3.11'", "Py_Yaml<9"]
[project.optional-dependencies]
test = ["pytest>=7", "my-shop[odd_name]"]
odd-name = ["six; python_version >= '3'", "enum34; python_version < '3'"]
docs = ["sphinx"]
"""
    declaration = declared(text, {"pyproject.toml", "my_shop.py"})
    assert isinstance(declaration, Installed)
    python = {"python_version": "3.11", "python_full_version": "3.11.7"}
    assert missing_requirements(declaration, [], {"attrs"}, python) == ["Py_Yaml<9"]
    assert missing_requirements(declaration, ["test"], {"attrs", "py-yaml"}, python) == [
        "pytest>=7",
        "six",
    ]
    assert missing_requirements(Installed(), ["test"], set(), python) == []


def test_a_project_that_only_its_build_describes_is_built():
    text = b"[project]\nname='a'\nversion='1'\ndynamic=['dependencies']\n"
    assert declared(text, {"a.py"}) == BuildBackend()


@pytest.mark.parametrize(
    ("pyproject", "setup_cfg", "name"),
    [
        (b"[project]\nname = 'a'\ndynamic = ['version']", None, "a"),
        (b"[project]\nname = 'a'\nversion = '1'", None, None),
        (b"[build-system]\nrequires = []", b"[metadata]\nname = b", "b"),
        (None, b"[metadata]\nname = b\nversion = attr: b.__version__", None),
        (None, b"no section", None),
        (None, None, None),
    ],
)
def test_projects_without_a_declared_version(pyproject, setup_cfg, name):
    assert unversioned(pyproject, setup_cfg) == name


def test_pinned_packages_come_after_the_project():
    installed = Installed(roots=("/work/src", "/work"))
    tree = over("repo-1", Environment("packages-1", installed))
    assert tree.layers == ("packages-1", "repo-1")
    assert tree.paths == (
        "/work/src",
        "/work",
        "/work/.fettle/project",
        "/work/.fettle/packages",
    )
    assert over("repo-1", Environment(None, Installed())).sites == ("/work/.fettle/project",)


@pytest.mark.parametrize(
    ("setup", "command"),
    [
        ((), None),
        (
            ('a==1; python_version < "3"  # for old ones',),
            "pip install {0} -e . || pip install {0}".format("""'a==1; python_version < "3"'"""),
        ),
        (
            ("attrs==23.2.0 --hash=sha256:ab", "-e .[test]"),
            "pip install attrs==23.2.0 -e '.[test]' || pip install attrs==23.2.0",
        ),
        ((".[test,docs]",), "pip install -e '.[test,docs]'"),
    ],
)
def test_a_job_installs_the_packages_of_its_task(setup, command):
    assert setup_command(setup) == command

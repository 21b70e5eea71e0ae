"""The modules that a project's metadata makes importable, as the build backends do it."""

from __future__ import annotations

import time

import pytest
from support.graph.clone_projects import SHAPES, Shape

from agents.layout.importable import Importable
from agents.layout.site import METADATA, editable, project_site, site_of


def importable(files: dict[str, str]) -> Importable:
    return editable(files, {name: files[name] for name in METADATA if name in files})


@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)
def test_each_backend_follows_its_rule(shape: Shape) -> None:
    directories = importable(dict(shape.files))
    assert directories.directories == shape.directories
    assert dict(directories.modules) == dict(shape.modules)


@pytest.mark.parametrize(
    ("metadata", "directories", "modules"),
    [
        ({"setup.cfg": "[metadata]\nname = shop\n"}, (), {}),
        ({"setup.py": "setup(packages=code())"}, (), {"shop": "shop"}),
        (
            {"setup.py": "ARGS = dict(package_dir={'': 'lib'}, packages=['a'])\nsetup(**ARGS)"},
            ("lib",),
            {},
        ),
        ({"setup.py": "M = ['one']\nsetup(**{'py_modules': M, **{}})"}, (), {"one": "one"}),
        ({"setup.py": "((((", "lib/a.py": ""}, (), {"shop": "shop"}),
        ({"pyproject.toml": "[build-system"}, (), {}),
        ({"pyproject.toml": "[tool.poetry]\nname = 'shop'\npackage-mode = false"}, (), {}),
        ({"pyproject.toml": "[tool.poetry]\nname = 'shop'"}, ("",), {}),
        ({"pyproject.toml": "[build-system]\nbuild-backend = 'own:x'"}, ("",), {}),
        (
            {"pyproject.toml": "[build-system]\nbuild-backend = 'own'\nrequires = ['flit-core<4']\n"
             "[project]\nname = 'shop'"},
            ("",),
            {},
        ),
        ({"pyproject.toml": "[build-system]\nbuild-backend = 5\nrequires = 5"}, ("",), {}),
        (
            {"pyproject.toml": "[project]\nname = 'x'\n[tool.setuptools]\npackages = ['shop']\n"
             "package-dir = {'' = '../..'}"},
            (),
            {},
        ),
        (
            {"pyproject.toml": "[project]\nname = 'x'\n[tool.setuptools.packages]\n"
             "find = {where = ['a', 'b']}", "a/one/x.py": "", "b/two/x.py": ""},
            (),
            {"one": "a/one", "two": "b/two"},
        ),
    ],
)  # fmt: skip
def test_unusual_metadata(
    metadata: dict[str, str], directories: tuple[str, ...], modules: dict[str, str]
) -> None:
    result = importable({"shop/__init__.py": "", **metadata})
    assert (result.directories, dict(result.modules)) == (directories, modules)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 60_000,
        "a." * 30_000 + "b = 1",
        "x = 1" + " " * 60_000,
        "-" * 60_000 + "1",
        "a\n" * 30_000,
    ],
)
def test_any_metadata_is_read_quickly(text: str) -> None:
    for name in METADATA:
        started = time.process_time()
        site_of({name: text.encode(), "shop/__init__.py": b"", "setup.py": text.encode()})
        assert time.process_time() - started < 10  # usually below 1


def test_a_large_file_is_not_read() -> None:
    large = b"from setuptools import setup\nsetup(packages=['shop'])" + b" " * 70_000
    assert site_of({"setup.py": large, "shop/__init__.py": b""}) == {}


@pytest.mark.parametrize("name", ["a\nb", "../a", "a/b", "", "é", "-a"])
def test_no_name_leads_outside_the_site_folder(name: str) -> None:
    metadata = {"setup.py": f"from setuptools import setup\nsetup(name={name!r})"}
    assert not [path for path in project_site(metadata, metadata) if "/" in path]


def test_a_check_loads_no_plugin_of_the_work() -> None:
    text = "[project]\nname = 'shop'\n[project.entry-points.pytest11]\nshop = 'shop'\n"
    files = {"pyproject.toml": text, "shop.py": ""}
    in_runs = project_site(files, files)
    in_checks = site_of({path: data.encode() for path, data in files.items()})
    assert {path for path in in_runs if path not in in_checks} == {
        "version-of-project/shop.dist-info/entry_points.txt"
    }


@pytest.mark.parametrize(
    "wrong",
    ["a\0 = shop:x", "a\n[b] = shop:x", "../a = shop:x", "a" * 300 + " = shop:x", "\ud800 = b:c"],
)
def test_invalid_entry_points_are_left_out(wrong: str) -> None:
    points = {"console_scripts": [wrong, "right = shop:main"], "a\nb": ["c = d"]}
    metadata = {
        "setup.py": f"from setuptools import setup\nsetup(name='shop', entry_points={points!r})"
    }
    (text,) = (data for path, data in project_site(metadata, metadata).items() if "points" in path)
    assert text == b"[console_scripts]\nright = shop:main\n"

"""The product, its client and the laboratory are three distributions (ADR 90)."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from cli import command_line

TOP = Path(__file__).resolve().parents[2]
PRODUCT = tomllib.loads((TOP / "pyproject.toml").read_text())
CLIENT = tomllib.loads((TOP / "fettle" / "pyproject.toml").read_text())
LABORATORY = tomllib.loads((TOP / "lab" / "pyproject.toml").read_text())


def test_the_wheel_has_no_laboratory_and_the_images_only_its_evaluation():
    """An image has no programs that attack sandboxes."""
    assert "lab" not in PRODUCT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    lines = (TOP / ".dockerignore").read_text().splitlines()
    assert {line for line in lines if line.startswith("!lab")} == {
        *("!lab/pyproject.toml", "!lab/__init__.py", "!lab/evals", "!lab/provider"),
        "!lab/commands/__init__.py",
        "!lab/commands/bench.py",
    }


def test_the_images_have_all_modules_that_their_part_of_the_laboratory_imports():
    lines = (TOP / ".dockerignore").read_text().splitlines()
    sent = [TOP / line[1:] for line in lines if line.startswith("!lab")]
    sources = [
        path for entry in sent for path in ([entry] if entry.is_file() else entry.rglob("*"))
    ]
    modules = [path for path in sources if path.suffix == ".py" and "import" in path.read_text()]
    imported = {
        node.module
        for path in modules
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and f"{node.module}.".startswith("lab.")
    }
    assert len(imported) > 20
    files = {TOP / name.replace(".", "/") for name in imported}
    assert not [
        path
        for path in files
        if path.with_suffix(".py") not in modules and path / "__init__.py" not in sources
    ]


def test_all_have_the_same_version():
    version = PRODUCT["project"]["version"]
    assert LABORATORY["project"]["version"] == CLIENT["project"]["version"] == version
    assert LABORATORY["project"]["dependencies"] == [f"fettle=={version}"]
    assert f"fettle-client[mcp]=={version}" in PRODUCT["project"]["dependencies"]


def test_the_client_depends_on_few_libraries_and_has_its_types(tmp_path):
    """A program that uses the client installs no part of the service."""
    names = {re.split("[^a-z-]", line)[0] for line in CLIENT["project"]["dependencies"]}
    assert names == {"httpx", "httpx-sse", "pydantic"}
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*command, "--wheel-dir", tmp_path, TOP / "fettle"], check=True)
    (wheel,) = tmp_path.glob("*.whl")
    files = zipfile.ZipFile(wheel).namelist()
    assert {"fettle/__init__.py", "fettle/types.py", "fettle/py.typed"} <= set(files)
    assert all(name.startswith(("fettle/", "fettle_client-")) for name in files)


def test_the_laboratory_registers_the_commands_that_the_command_line_describes():
    registered = LABORATORY["project"]["entry-points"][command_line.ENTRY_POINTS]
    assert registered.keys() == command_line.LABORATORY.keys()


@pytest.mark.parametrize("name", command_line.LABORATORY)
def test_a_command_of_the_laboratory_without_it_names_the_remedy(name, monkeypatch, capsys):
    monkeypatch.setattr(command_line, "entry_points", lambda group: ())
    assert command_line.run([name, "--help"]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"error: `fettle {name}` needs the distribution fettle-lab")
    assert "make install" in error


def test_help_lists_the_commands_of_other_distributions_and_loads_none(monkeypatch, capsys):
    missing = EntryPoint("bench", "no.such.module:command", command_line.ENTRY_POINTS)
    monkeypatch.setattr(command_line, "entry_points", lambda group: (missing,))
    assert command_line.run(["--help"]) == 0
    assert f"bench  {command_line.LABORATORY['bench']}" in capsys.readouterr().out


def test_a_command_of_another_distribution_runs(monkeypatch, capsys):
    chaos = LABORATORY["project"]["entry-points"][command_line.ENTRY_POINTS]["chaos"]
    point = EntryPoint("chaos", chaos, command_line.ENTRY_POINTS)
    monkeypatch.setattr(command_line, "entry_points", lambda group: (point,))
    assert command_line.run(["chaos", "--help"]) == 0
    assert "--minutes" in capsys.readouterr().out

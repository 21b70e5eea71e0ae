"""A verification has the result of the same command in a clone with an editable install."""

from __future__ import annotations

import re
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest
import pytest_asyncio
from support.graph.clone_projects import PYTEST, SHAPES, Shape, setuptools, shop

from agents.attempt import Ports
from agents.graph.memory_ports import MemoryRecord, ports_over
from agents.runs.program import Program, ProgramResult, execute
from sandbox.local import LocalSandbox
from settings.sandbox import sandbox_python

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.matrix(every=4)]

COUNT = re.compile(r"(\d+) (passed|failed|error|skipped|xfailed)")
RUNS_TESTS = ("pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments", "py.py")
FINDER = """
import sys
from importlib.util import spec_from_file_location
from os.path import isfile

class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if (place := {modules!r}.get(name)) is None:
            return None
        init = f"{{place}}/__init__.py"
        if isfile(init):
            return spec_from_file_location(name, init, submodule_search_locations=[place])
        if isfile(f"{{place}}.py"):
            return spec_from_file_location(name, f"{{place}}.py")
        return space(name, place)

def space(name, place):
    from importlib.machinery import ModuleSpec
    spec = ModuleSpec(name, None, is_package=True)
    spec.submodule_search_locations = [place]
    return spec

sys.meta_path.append(Finder)
"""
"""As setuptools' `__editable___*_finder.py` finds modules."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def sandbox() -> AsyncIterator[LocalSandbox]:
    local = LocalSandbox(sandbox_python(), pool_size=2)
    yield local
    await local.close()


class Clone:
    """A clone outside of any sandbox: the files, and a virtual environment with the test runner and
    the project's editable install.
    """

    def __init__(self, folder: Path, shape: Shape) -> None:
        self.work, self._shape = folder / "work", shape
        self._bin = folder / "venv/bin"
        for path, text in shape.files.items():
            (self.work / path).parent.mkdir(parents=True, exist_ok=True)
            (self.work / path).write_text(text)
        self._make_environment(folder / "venv")

    def _make_environment(self, venv: Path) -> None:
        interpreter = Path(sandbox_python())
        (site_packages,) = interpreter.parent.parent.glob("lib/python3*/site-packages")
        packages = venv / site_packages.relative_to(interpreter.parent.parent)
        packages.mkdir(parents=True)
        self._bin.mkdir()
        (self._bin / "python").symlink_to(interpreter.resolve())
        (venv / "pyvenv.cfg").write_text(
            f"home = {interpreter.resolve().parent}\ninclude-system-site-packages = false\n"
        )
        for name in RUNS_TESTS:
            for package in site_packages.glob(f"{name}*"):
                (packages / package.name).symlink_to(package)
        lines = [str(self.work / directory) for directory in self._shape.directories]
        if self._shape.modules:
            modules = {name: str(self.work / at) for name, at in self._shape.modules.items()}
            (packages / "editable_finder.py").write_text(FINDER.format(modules=modules))
            lines.append("import editable_finder")
        (packages / "editable.pth").write_text("".join(f"{line}\n" for line in lines))
        _, _, text = interpreter.with_name("pytest").read_text().partition("\n")
        program = self._bin / "pytest"
        program.write_text(f"#!{self._bin}/python\n{text}")
        program.chmod(0o755)

    def run(self) -> subprocess.CompletedProcess[str]:
        words = self._shape.words
        return subprocess.run(
            [self._bin / words[0], *words[1:]],
            cwd=self.work,
            env={
                "PATH": f"{self._bin}:/usr/bin:/bin",
                "HOME": "/tmp",
                "PYTHONDONTWRITEBYTECODE": "1",
            },
            capture_output=True,
            text=True,
            check=False,
        )


async def ports_of(sandbox: LocalSandbox, shape: Shape) -> Ports:
    ports = ports_over(MemoryRecord(), sandbox, cast("Any", None))
    await ports.workspace.apply({path: text.encode() for path, text in shape.files.items()})
    return ports


async def verified(sandbox: LocalSandbox, shape: Shape) -> ProgramResult:
    ports = await ports_of(sandbox, shape)
    return await execute(ports, Program.verify(shape.words), await ports.workspace.tree())


def summary(text: str) -> dict[str, int]:
    """pytest's own counts."""
    lines = [line for line in text.splitlines() if COUNT.search(line) and " in " in line]
    return {name: int(count) for count, name in COUNT.findall(lines[-1])} if lines else {}


@pytest.mark.parametrize("name", SHAPES)
async def test_a_verification_has_the_result_of_a_run_in_a_clone(
    tmp_path: Path, sandbox: LocalSandbox, name: str
) -> None:
    shape = SHAPES[name]
    outside = Clone(tmp_path, shape).run()
    inside = await verified(sandbox, shape)
    details = f"{outside.stdout}{outside.stderr}\n---- in the sandbox:\n{inside.result}"
    assert inside.result.exit_code == outside.returncode, details
    assert summary(inside.result.stdout.text) == summary(outside.stdout), details
    assert inside.passed is (outside.returncode == 0), details
    assert (inside.problem is None) is (shape.says is None), details
    assert (shape.says or "") in (inside.problem or ""), inside.problem
    if inside.report is not None and inside.report.tests:
        counts = {key: count for key, count in inside.report.counts.items() if key != "not_run"}
        assert counts == summary(outside.stdout)
    written_files = {"out.xml"} if "junitxml" in str(shape.files) else set()
    assert inside.result.changed.keys() == written_files


async def test_src_is_on_the_path_of_exploratory_runs(sandbox: LocalSandbox) -> None:
    ports = await ports_of(sandbox, Shape({**setuptools(), **shop("src")}))
    tree = await ports.workspace.tree()
    code = "from shop.cart import total; print(total([1, 2]))"
    for program in (Program.python(code), Program.shell(f"cd /; python3 -c '{code}'")):
        assert (await execute(ports, program, tree)).result.stdout.text == "3\n"


async def test_an_experiment_finds_the_project_at_the_same_path(sandbox: LocalSandbox) -> None:
    shape = SHAPES["setup.py, lib"]
    ports = await ports_of(sandbox, shape)
    tree = await ports.workspace.tree()
    broken = tree.over({"setup.py": b"broken ("})
    assert (await execute(ports, Program.verify(PYTEST), broken)).passed


METADATA = """
import subprocess, sys
from importlib.metadata import version

def test_version():
    assert version("my-shop") == "1.2"

def test_child():
    code = "from importlib.metadata import version; assert version('my_shop') == '1.2'"
    assert subprocess.run([sys.executable, "-c", code], env={}, cwd="/").returncode == 0

def test_plug_in(coin):
    assert coin == 1

def test_program():
    assert subprocess.run(["my-shop"]).returncode == 3
"""
PLUG_IN = "import pytest\n@pytest.fixture\ndef coin(): return 1\ndef main(): return 3\n"
DECLARED = {
    "project": {
        "pyproject.toml": '[project]\nname = "my-shop"\nversion = "1.2"\n'
        '[project.entry-points.pytest11]\nshop = "shop.plugin"\n'
        '[project.scripts]\nmy-shop = "shop.plugin:main"\n'
    },
    "poetry": {
        "pyproject.toml": '[tool.poetry]\nname = "my-shop"\nversion = "1.2"\n'
        'packages = [{include = "shop", from = "src"}]\n'
        '[tool.poetry.plugins.pytest11]\nshop = "shop.plugin"\n'
        '[tool.poetry.scripts]\nmy-shop = "shop.plugin:main"\n'
    },
    "setup.py": {
        "setup.py": "from setuptools import setup\nsetup(name='my-shop', version='1.2', "
        "package_dir={'': 'src'}, entry_points={'pytest11': ['shop = shop.plugin'], "
        "'console_scripts': ['my-shop=shop.plugin:main']})\n"
    },
    "setup.cfg": {
        "pyproject.toml": "[tool.black]\n",
        "setup.cfg": "[metadata]\nname = my-shop\nversion = 1.2\n[options]\n"
        "package_dir =\n    = src\n[options.entry_points]\npytest11 =\n    shop = shop.plugin\n"
        "console_scripts =\n    my-shop = shop.plugin:main\n",
    },
}


@pytest.mark.parametrize("name", DECLARED)
async def test_a_run_has_the_metadata_of_the_project(sandbox: LocalSandbox, name: str) -> None:
    files = {**DECLARED[name], "src/shop/__init__.py": "", "src/shop/plugin.py": PLUG_IN}
    outcome = await verified(sandbox, Shape({**files, "tests/test_metadata.py": METADATA}))
    assert outcome.passed, outcome.result


async def test_a_version_that_code_computes_is_unknown(sandbox: LocalSandbox) -> None:
    ports = await ports_of(
        sandbox,
        Shape(
            {
                "pyproject.toml": '[project]\nname = "shop"\ndynamic = ["version"]\n',
                "src/shop/__init__.py": "import importlib.metadata\n"
                "__version__ = importlib.metadata.version(__name__)\n",
            }
        ),
    )
    program = Program.python("import shop; print(shop.__version__)")
    result = (await execute(ports, program, await ports.workspace.tree())).result
    assert result.stdout.text == "0.0.0\n"

"""`fettle bench repos --canonical`: Fettle's own tasks, and a user's folder."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import shutil
import tarfile
import zipfile
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import pytest

from cli.main import run
from lab.evals.repos import own
from lab.evals.repos.task import Base, RepoTask
from lab.evals.repos.verifying import Verifying

DEPENDENCY = "sortedcontainers"
"""The requirement of one of Fettle's own tasks. It is installed here, so that its wheel can be made
again.
"""

NEEDS_NODE = "sizes"
"""The task that needs Node, which is a wheel of 60 MB."""


@pytest.fixture(autouse=True)
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels instead of an index: pip's own environment names it."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    wheel(folder)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("FETTLE_CONFIG", "")
    return folder


def wheel(folder: Path) -> None:
    installed = distribution(DEPENDENCY)
    stem = f"{DEPENDENCY}-{installed.version}"
    lines = []
    with zipfile.ZipFile(folder / f"{stem}-py2.py3-none-any.whl", "w") as archive:
        for file in installed.files or ():
            if file.suffix == ".py" or file.name in {"METADATA", "WHEEL"}:
                content = Path(file.locate()).read_bytes()
                digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest())
                archive.writestr(str(file), content)
                lines.append(f"{file},sha256={digest.decode().rstrip('=')},{len(content)}\n")
        record = f"{stem}.dist-info/RECORD"
        archive.writestr(record, "".join([*lines, f"{record},,\n"]))


def canonical(capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, dict[str, Any]]:
    code = run(["bench", "repos", "--canonical", "--json", *options])
    return code, json.loads(capsys.readouterr().out.splitlines()[-1])


def own_tasks(tmp_path: Path, *names: str) -> Path:
    """A folder with these tasks of Fettle, as a user makes it."""
    tasks = tmp_path / "tasks"
    tasks.mkdir()
    for task in own.tasks(tasks):
        if task.id not in names:
            shutil.rmtree(tasks / task.id)
    return tasks


def test_every_fix_of_fettles_tasks_passes_and_no_task_passes_without_it(capsys, tmp_path):
    names = {path.parent.name for path in own.FOLDER.glob("*/task.json")} - {NEEDS_NODE}
    code, report = canonical(capsys, "--data", str(own_tasks(tmp_path, *names)))
    assert report["failures"] == []
    assert (code, report["tasks"], report["passed"]) == (0, len(names), len(names))
    assert list(report)[-2:] == ["tasks", "passed"]


@pytest.mark.parametrize("option", ["--parallel", "--follow-up"])
def test_jobs_combine_two_halves_of_a_fix(capsys, tmp_path, option):
    tasks = own_tasks(tmp_path, "slugs", "parcels")
    code, report = canonical(capsys, option, "--data", str(tasks))
    assert report["failures"] == []
    assert (code, report["passed"]) == (0, 2)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of two tasks."""
    return own_tasks(tmp_path, "ledger", "rowquery")


def change(task: Path, **fields: object) -> None:
    described = json.loads((task / "task.json").read_text())
    (task / "task.json").write_text(json.dumps({**described, **fields}))


BACKEND = """\
import pathlib
import subprocess
import zipfile

NAME, METADATA = {name!r}, {metadata!r}


def build_wheel(folder, settings=None, metadata=None):
    version = {version}
    if (source := pathlib.Path("a.py")).exists():
        pathlib.Path("compiled.so").write_text(source.read_text())
    with zipfile.ZipFile(folder + f"/{{NAME}}-{{version}}-py3-none-any.whl", "w") as wheel:
        info = f"{{NAME}}-{{version}}.dist-info"
        text = f"Metadata-Version: 2.1\\nName: {{NAME}}\\nVersion: {{version}}\\n{{METADATA}}"
        wheel.writestr(info + "/METADATA", text)
        wheel.writestr(info + "/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\n")
        wheel.writestr(info + "/RECORD", "")
        wheel.writestr(f"{{NAME}}_made.py", "")
    return f"{{NAME}}-{{version}}-py3-none-any.whl"


build_editable = build_wheel
"""
OWN_BACKEND = """\
[build-system]
requires = []
build-backend = "made"
backend-path = ["."]
"""
"""A build backend in the project itself: no other package is needed to build the project."""


def sdist(folder: Path, name: str, ran: Path) -> None:
    """A package without a wheel. A build of it outside of the sandbox makes the file `ran`."""
    outside = f"open({str(ran)!r}, 'w')"
    trap = f"import contextlib\nwith contextlib.suppress(OSError):\n    {outside}\n"
    backend = trap + BACKEND.format(name=name, metadata="", version="'1.0'")
    with tarfile.open(folder / f"{name}-1.0.tar.gz", "w:gz") as tar:
        for path, text in {"pyproject.toml": OWN_BACKEND, "made.py": backend}.items():
            member = tarfile.TarInfo(f"{name}-1.0/{path}")
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text.encode()))


def unversioned(at: Path, tests: str, metadata: str = "", **fields: object) -> Path:
    """A task on a project `shop` that takes its version from git, and has no tag."""
    (at / "base").mkdir(parents=True)
    version = (
        "subprocess.check_output(['git', 'describe', '--tags'], text=True).strip().lstrip('v')"
    )
    backend = BACKEND.format(name="shop", metadata=metadata, version=version)
    project = OWN_BACKEND + "[project]\nname = 'shop'\ndynamic = ['version', 'dependencies']\n"
    for path, text in {"made.py": backend, "pyproject.toml": project, "a.py": "x = 1\n"}.items():
        (at / "base" / path).write_text(text)
    (at / "fix.patch").write_text("--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n")
    lines = tests.splitlines()
    head = f"--- /dev/null\n+++ b/test_a.py\n@@ -0,0 +1,{len(lines)} @@\n"
    (at / "test.patch").write_text(head + "".join(f"+{line}\n" for line in lines))
    default_fields = {
        "id": at.name,
        "problem": "x is wrong.",
        "fail_to_pass": ["test_a.py::test_it"],
    }
    (at / "task.json").write_text(json.dumps({**default_fields, **fields}))
    return at


def test_a_package_without_a_wheel_is_built_in_the_sandbox(capsys, tmp_path, index):
    ran = tmp_path / "ran"
    sdist(index, "plain", ran)
    tests = "import a, plain_made\n\ndef test_it():\n    assert a.x == 2\n"
    source, tasks = tmp_path / "source", tmp_path / "tasks"
    unversioned(source / "shop", tests, setup=["plain==1.0"])
    unversioned(source / "not there", tests, setup=["plain==2.0"])
    tasks.mkdir()
    own.tasks(tasks, source)
    code, report = canonical(capsys, "--data", str(tasks))
    assert (code, report["tasks"], report["passed"]) == (1, 2, 1)
    (failure,) = report["failures"]
    assert "not there: with its fix: setup: plain==2.0: the index has neither a wheel" in failure
    assert "pin a version that it has" in failure
    assert not ran.exists()


def test_a_project_with_version_and_requirements_from_its_build(capsys, tmp_path, index):
    tests = """\
from importlib.metadata import version
import a
import plain_made
import sortedcontainers

def test_it():
    assert version("shop") == "7.1"
    assert a.x == 2
    assert open("compiled.so").read() == "x = 2\\n"
"""
    sdist(index, "plain", tmp_path / "ran")
    (index / "shop-7.1.tar.gz").write_bytes(b"")  # the project itself, as the index has it
    source, tasks = tmp_path / "source", tmp_path / "tasks"
    metadata = f"Requires-Dist: plain\nRequires-Dist: {DEPENDENCY}; extra == 'test'\n"
    unversioned(source / "shop", tests, metadata, setup=["-e .[test]"])
    tasks.mkdir()
    own.tasks(tasks, source)
    code, report = canonical(capsys, "--data", str(tasks))
    assert (code, report["failures"]) == (0, [])


def test_an_order_that_breaks_the_verifier_is_answered():
    task = RepoTask("lost", "It is lost.", Base(), b"", b"", ("test_a.py::test_it",))
    with Verifying() as verifying:
        verdict = verifying.verdict(task, "fix")
    assert (verdict["passed"], verdict["untried"]) == (False, True)
    assert "the verifier failed" in verdict["why"]


def test_the_fault_of_a_task_is_reported(capsys, folder):
    shutil.copytree(folder / "ledger", folder / "no wheel")
    change(folder / "no wheel", id="no wheel", setup=["not-in-the-index==1.0"])
    shutil.copytree(folder / "ledger", folder / "not fixed")
    (folder / "not fixed" / "fix.patch").write_text("\n")
    change(folder / "not fixed", id="not fixed")
    shutil.copytree(folder / "ledger", folder / "not failing")
    passing = "tests/test_money.py::test_shown"
    change(folder / "not failing", id="not failing", fail_to_pass=[passing])
    code, report = canonical(capsys, "--data", str(folder))
    assert (code, report["tasks"], report["passed"]) == (1, 5, 2)
    assert [failure.partition(": ")[0] for failure in report["failures"]] == [
        "no wheel",
        "not failing",
        "not fixed",
    ]
    no_wheel, not_failing, not_fixed = report["failures"]
    assert "not-in-the-index==1.0: the index has neither a wheel" in no_wheel
    assert f"without its fix: {passing} passes" in not_failing
    assert "with its fix: tests/test_cli.py::test_split failed" in not_fixed


def test_an_invalid_folder_is_refused(capsys, folder):
    (folder / "ledger" / "test.patch").unlink()
    assert run(["bench", "repos", "--canonical", "--data", str(folder)]) == 1
    assert "ledger/test.patch: No such file" in capsys.readouterr().err

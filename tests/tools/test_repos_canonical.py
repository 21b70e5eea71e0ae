"""`fettle bench repos --canonical`: our own tasks, and a folder of somebody's."""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import pytest

from cli.main import run
from evals.repos import own

DEPENDENCY = "sortedcontainers"
"""What one of our own tasks requires. It is installed here, so that its wheel can be made again."""


@pytest.fixture(autouse=True)
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels in place of an index: pip's own environment names it."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    wheel(folder)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("FETTLE_CONFIG", str(tmp_path / "fettle.toml"))
    return folder


def wheel(folder: Path) -> None:
    found = distribution(DEPENDENCY)
    stem = f"{DEPENDENCY}-{found.version}"
    lines = []
    with zipfile.ZipFile(folder / f"{stem}-py2.py3-none-any.whl", "w") as archive:
        for file in found.files or ():
            if file.suffix == ".py" or file.name in {"METADATA", "WHEEL"}:
                content = Path(file.locate()).read_bytes()
                digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest())
                archive.writestr(str(file), content)
                lines.append(f"{file},sha256={digest.decode().rstrip('=')},{len(content)}\n")
        record = f"{stem}.dist-info/RECORD"
        archive.writestr(record, "".join([*lines, f"{record},,\n"]))


def canonical(capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, dict[str, object]]:
    code = run(["bench", "repos", "--canonical", "--json", *options])
    return code, json.loads(capsys.readouterr().out.splitlines()[-1])


def test_every_fix_of_our_own_passes_and_no_task_without_it(capsys):
    code, said = canonical(capsys)
    assert said["failures"] == []
    assert (code, said["tasks"], said["passed"]) == (0, 6, 6)
    assert list(said)[-2:] == ["tasks", "passed"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of tasks, as anybody makes them."""
    made = tmp_path / "tasks"
    made.mkdir()
    own.tasks(made)
    for name in ("bookings", "layers", "patience", "shipnotes"):
        shutil.rmtree(made / name)
    return made


def change(task: Path, **fields: object) -> None:
    described = json.loads((task / "task.json").read_text())
    (task / "task.json").write_text(json.dumps({**described, **fields}))


def test_what_is_wrong_with_a_task_is_said(capsys, folder):
    shutil.copytree(folder / "ledger", folder / "no wheel")
    change(folder / "no wheel", id="no wheel", setup=["not-in-the-index==1.0"])
    shutil.copytree(folder / "ledger", folder / "not fixed")
    (folder / "not fixed" / "fix.patch").write_text("\n")
    change(folder / "not fixed", id="not fixed")
    shutil.copytree(folder / "ledger", folder / "not failing")
    passing = "tests/test_money.py::test_shown"
    change(folder / "not failing", id="not failing", fail_to_pass=[passing])
    code, said = canonical(capsys, "--data", str(folder))
    assert (code, said["tasks"], said["passed"]) == (1, 5, 2)
    assert [each.partition(": ")[0] for each in said["failures"]] == [
        "no wheel",
        "not failing",
        "not fixed",
    ]
    no_wheel, not_failing, not_fixed = said["failures"]
    assert "no wheel for the sandbox's Python" in no_wheel
    assert "not-in-the-index==1.0" in no_wheel
    assert f"without its fix: {passing} passes" in not_failing
    assert "with its fix: tests/test_cli.py::test_split failed" in not_fixed


def test_a_bad_folder_is_refused(capsys, folder):
    (folder / "ledger" / "test.patch").unlink()
    assert run(["bench", "repos", "--canonical", "--data", str(folder)]) == 1
    assert "ledger/test.patch: No such file" in capsys.readouterr().err

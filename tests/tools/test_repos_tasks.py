"""Reading tasks on repositories: folders, SWE-bench's lines, and Fettle's own tasks."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from lab.evals.errors import BadSet
from lab.evals.repos import own, swebench
from lab.evals.repos.halves import fix_halves, task_halves
from lab.evals.repos.sets import loaded
from lab.evals.repos.task import COMMAND, Base, RepoTask, read

BUNDLE = b"# v2 git bundle\n" + 40 * b"0" + b" refs/heads/main\n\nPACK"
TASK = {"id": "dates", "problem": "Dates are wrong.", "fail_to_pass": ["tests/test_a.py::test_b"]}


def folder(at: Path, task: object = TASK, **files: bytes | None) -> Path:
    at.mkdir(parents=True)
    parts = {"base.bundle": BUNDLE, "fix.patch": b"fix", "test.patch": b"\xff", **files}
    parts = {"task.json": json.dumps(task).encode(), **parts}
    for name, content in parts.items():
        if content is not None:
            (at / name).write_bytes(content)
    return at


def test_a_task_needs_few_fields(tmp_path):
    folder(tmp_path / "a")
    (tmp_path / "notes").mkdir()
    (tmp_path / "README.md").write_text("not a task")
    (task,) = read(tmp_path)
    assert (task.id, task.problem, task.command) == ("dates", "Dates are wrong.", COMMAND)
    assert (task.setup, task.pass_to_pass, task.level) == ((), (), "")
    assert (task.fix, task.tests) == (b"fix", b"\xff")
    assert task.base.bundle == str(tmp_path / "a" / "base.bundle")


def test_all_fields(tmp_path):
    ids = ["./tests/test_a.py::TestX::test_b[a b-c::d]", "tests/test_a.py::test_c"]
    all_fields = {
        **TASK,
        "setup": ["attrs==23.2.0"],
        "test_command": "PYTHONPATH=src python -m pytest -q",
        "fail_to_pass": ids,
        "pass_to_pass": None,
        "difficulty": 3,
        "repo": "https://git.example/a/b",
        "base_commit": "abc",
        "licence": "MIT",
        "created": {"by": "a person"},
    }
    folder(tmp_path / "a", all_fields)
    (task,) = read(tmp_path / "a")  # the folder itself is the task
    assert task.fail_to_pass == ("tests/test_a.py::TestX::test_b[a b-c::d]", ids[1])
    assert (task.setup, task.level) == (("attrs==23.2.0",), "3")
    assert task.command.startswith("PYTHONPATH=src ")
    assert RepoTask.from_fields(json.loads(json.dumps(task.as_fields()))) == task


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"task.json": b"{"}, "task.json: Invalid JSON"),
        ({"task": {"id": "x", "problem": "y"}}, "task.json: fail_to_pass: Field required"),
        ({"task": {**TASK, "fail_to_pass": []}}, "task.json: fail_to_pass: "),
        ({"task": {**TASK, "setup": "attrs"}}, "task.json: setup: "),
        ({"task.json": None}, "task.json: No such file"),
        ({"base.bundle": None}, "base.bundle: No such file"),
        ({"base.bundle": b"PK"}, "base.bundle: it is no git bundle"),
        ({"fix.patch": None}, "fix.patch: No such file"),
        ({"test.patch": None}, "test.patch: No such file"),
    ],
    ids=str,
)
def test_each_invalid_file_is_named(tmp_path, files, reason):
    folder(tmp_path / "bad", **files)
    folder(tmp_path / "good")
    with pytest.raises(BadSet) as raised:
        read(tmp_path)
    assert f"bad/{reason}" in str(raised.value)


def test_all_faults_are_reported_at_once(tmp_path):
    folder(tmp_path / "a")
    folder(tmp_path / "b")
    folder(tmp_path / "c", **{"fix.patch": None})
    with pytest.raises(BadSet, match=r"another task has the id 'dates', too; .*c/fix\.patch"):
        read(tmp_path)
    (tmp_path / "none").mkdir()
    with pytest.raises(BadSet, match="has no task"):
        read(tmp_path / "none")


LINE = {
    "instance_id": "owner__name-1",
    "repo": "owner/name",
    "base_commit": "a" * 40,
    "problem_statement": "It is wrong.",
    "patch": "diff",
    "test_patch": "tests",
    "FAIL_TO_PASS": '["t.py::a"]',
    "PASS_TO_PASS": ["t.py::b"],
    "version": "1.2",
}


def lines(path: Path, *records: object) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


@pytest.mark.parametrize("mirror", ["mirrors/owner/name.git", "owner__name", "name.git", "name"])
def test_lines_of_swebench(tmp_path, mirror):
    (tmp_path / mirror / "objects").mkdir(parents=True)
    lines(tmp_path / "swe.jsonl", LINE)
    with loaded(tmp_path) as of:
        (task,) = of.exercises
    assert task.base.mirror == str(tmp_path / mirror)
    assert task.base.commit == "a" * 40
    assert (task.id, task.fail_to_pass, task.pass_to_pass) == (
        "owner__name-1",
        ("t.py::a",),
        ("t.py::b",),
    )


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"base_commit": "main"}, "record 1: base_commit is no commit"),
        ({"repo": "other/one"}, "record 1: no mirror of other/one"),
        ({"repo": "../../etc"}, "record 1: repo is no name"),
        ({"patch": None}, "record 1: "),
        ({"FAIL_TO_PASS": "x"}, "record 1: Expecting value"),
    ],
)
def test_an_invalid_line_is_named(tmp_path, changed, reason):
    (tmp_path / "name" / "objects").mkdir(parents=True)
    with pytest.raises(BadSet, match=reason):
        swebench.read(lines(tmp_path / "swe.jsonl", {**LINE, **changed}))


def test_the_bundles_of_fettles_own_tasks_are_always_the_same(tmp_path):
    digests = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        tasks = own.tasks(tmp_path / name)
        digests.append([hashlib.sha256(Path(task.base.bundle).read_bytes()) for task in tasks])
    assert [digest.digest() for digest in digests[0]] == [digest.digest() for digest in digests[1]]
    assert {task.level for task in tasks} == {"easy", "medium", "hard"}
    for task in tasks:
        files = [path for path in (own.FOLDER / task.id / "base").rglob("*") if path.is_file()]
        assert 9 <= len(files) <= 40
        assert task.pass_to_pass
        assert not set(task.fail_to_pass) & set(task.pass_to_pass)


def test_the_halves_of_a_fix_have_all_of_its_hunks(tmp_path):
    for task in own.tasks(tmp_path):
        halves = fix_halves(task)
        assert all(halves)
        if halves == (task.fix, task.tests):
            continue
        hunks = sorted(part for half in halves for part in re.split(rb"(?m)^(?=@@ )", half)[1:])
        hunks = [hunk.partition(b"diff --git")[0] for hunk in hunks]
        whole = [hunk.partition(b"diff --git")[0] for hunk in re.split(rb"(?m)^(?=@@ )", task.fix)]
        assert sorted(hunks) == sorted(whole[1:])


def test_new_files_and_renames_stay_complete():
    new = b"diff --git a/n b/n\nnew file mode 100644\n--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+n\n"
    renamed = b"diff --git a/o b/p\nsimilarity index 100%\nrename from o\nrename to p\n"
    task = RepoTask("t", "p", Base(), new + renamed, b"tests", ("t.py::t",))
    assert fix_halves(task) == (new, renamed)
    assert fix_halves(replace(task, fix=new)) == (new, b"tests")


def test_a_task_has_its_own_words_for_two_jobs(tmp_path):
    folder(tmp_path / "a", {**TASK, "then": "Now times.", "merged": True})
    folder(tmp_path / "b", {**TASK, "id": "b"})
    worded, plain = read(tmp_path)
    assert task_halves(worded) == ("Dates are wrong.", "Now times.")
    first, second = task_halves(plain)
    assert first.startswith("Dates are wrong.")
    assert second.endswith("Dates are wrong.")
    assert RepoTask.from_fields(json.loads(json.dumps(worded.as_fields()))) == worded
    assert "then" not in plain.content  # older sets keep their digest

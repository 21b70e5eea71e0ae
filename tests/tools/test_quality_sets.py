"""Reading sets of exercises: published sets, Fettle's own, and a user's file."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest
from support.cases.tiny_humaneval import GOOD, WRONG, write_problems
from support.servers.tiny_service import Answer, serving

from lab.evals.errors import BadSet
from lab.evals.sources import download, sets

MBPP = {
    "task_id": 2,
    "text": "Write a function to find the shared elements of two lists.",
    "code": "def similar(a, b):\r\n    return sorted(set(a) & set(b))",
    "test_list": ["assert similar([1, 2], [2]) == [2]", "assert similar([3], [3, 4]) == [3]"],
    "test_setup_code": "import math",
}


def lines(path: Path, *exercises: object) -> Path:
    path.write_text("".join(json.dumps(exercise) + "\n" for exercise in exercises))
    return path


def test_humaneval(tmp_path):
    of = sets.load("humaneval", write_problems(tmp_path / "x.jsonl.gz", *GOOD, WRONG), tmp_path)
    assert (of.name, of.source, len(of.exercises)) == ("humaneval", "x.jsonl.gz", 3)
    first, *_ = of.exercises
    assert "def f0(x):" in first.task
    assert "candidate(20)" not in first.task
    assert [name for exercise in of.exercises for name in exercise.tests] == ["hidden.py"] * 3
    assert "candidate(20)" in first.tests["hidden.py"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "no exercise"),
        (b"{", r"tiny.jsonl:1 .*Expecting"),
        (b"[]", r"tiny.jsonl:1 "),
        (json.dumps({"task_id": "x"}).encode(), "'prompt' is missing"),
        (json.dumps({**GOOD[0], "test": 3}).encode(), "test is not text"),
        (b"\x1f\x8b", "cannot be read"),
        (b"\x1f\x8bnot gzip", "cannot be read"),
        (b"\xff\xfe", "cannot be read"),
    ],
)
def test_an_invalid_file_is_refused_with_the_reason(tmp_path, content, reason):
    path = tmp_path / "tiny.jsonl"
    path.write_bytes(content)
    with pytest.raises(BadSet, match=reason):
        sets.load("humaneval", path, tmp_path)
    with pytest.raises(BadSet, match="cannot be read"):
        sets.load("humaneval", tmp_path / "none.jsonl", tmp_path)


def test_mbpp_shows_one_test_and_hides_the_others(tmp_path):
    of = sets.load("mbpp", lines(tmp_path / "mbpp.jsonl", MBPP), tmp_path)
    (exercise,) = of.exercises
    visible, hidden = MBPP["test_list"]
    assert visible in exercise.task
    assert hidden not in exercise.task
    assert hidden in exercise.tests["hidden.py"]
    assert visible not in exercise.tests["hidden.py"]


def test_fettles_own_set_has_13_exercises_of_graded_difficulty():
    of = sets.load("custom", None, Path("none"))
    levels = [exercise.level for exercise in of.exercises]
    assert {level: levels.count(level) for level in levels} == {"easy": 4, "medium": 6, "hard": 3}
    for exercise in of.exercises:
        assert exercise.right
        assert exercise.wrong
        assert exercise.right != exercise.wrong
        for tests in exercise.tests.values():
            assert tests not in exercise.task


def test_a_users_own_file(tmp_path):
    path = lines(
        tmp_path / "own.jsonl",
        {"id": "a", "task": "Add.", "tests": "def test_a(): ...", "right": "x = 1"},
        {"id": "b", "task": "Tell.", "files": {"x.txt": "1"}, "solution": "b.py", "level": "hard"},
    )
    of = sets.load(str(path), None, tmp_path)
    first, second = of.exercises
    assert of.name == "own"
    assert first.tests == {"test_hidden.py": "def test_a(): ..."}
    assert first.right == {"solution.py": "x = 1"}
    assert (second.tests, second.solution, second.level) == ({}, "b.py", "hard")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ({"id": "a"}, "task: Field required"),
        ({"id": "a", "task": "x", "test": "y"}, "test: Extra inputs"),
        ({"id": "a", "task": "x", "tests": {"t.py": 3}}, r"tests\.t\.py"),
        (["a"], "valid dictionary"),
    ],
)
def test_an_invalid_exercise_is_reported_with_its_line(tmp_path, line, reason):
    path = lines(tmp_path / "own.jsonl", {"id": "ok", "task": "x"}, line)
    with pytest.raises(BadSet, match=rf"own.jsonl:2 cannot be read.*{reason}"):
        sets.load(str(path), None, tmp_path)


def test_a_duplicate_id_is_refused(tmp_path):
    path = lines(tmp_path / "own.jsonl", *[{"id": "a", "task": "x"}] * 2)
    with pytest.raises(BadSet, match="two exercises have the id 'a'"):
        sets.load(str(path), None, tmp_path)


def test_the_digest_covers_tasks_and_tests(tmp_path):
    original = sets.load("mbpp", lines(tmp_path / "a.jsonl", MBPP), tmp_path)
    same = sets.load("mbpp", lines(tmp_path / "b.jsonl", MBPP), tmp_path)
    changed = sets.load("mbpp", lines(tmp_path / "c.jsonl", {**MBPP, "text": "Else."}), tmp_path)
    assert original.digest == same.digest != changed.digest


def test_without_a_network_the_error_names_the_option(tmp_path):
    with socket.socket() as silent_socket:  # the port is bound, but no server listens
        silent_socket.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{silent_socket.getsockname()[1]}/HumanEval.jsonl.gz"
        with pytest.raises(BadSet) as refused:
            download.downloaded("humaneval", url, tmp_path)
    assert "fettle bench humaneval --data PATH" in refused.value.next_step
    assert list(tmp_path.iterdir()) == []


def test_a_download_is_cached(tmp_path):
    with serving() as tiny:
        tiny.on("GET /mbpp.jsonl", Answer(200, json.dumps(MBPP) + "\n"))
        path = download.downloaded("mbpp", f"{tiny.url}/mbpp.jsonl", tmp_path / "cache")
        assert path == download.downloaded("mbpp", f"{tiny.url}/mbpp.jsonl", tmp_path / "cache")
        assert len(tiny.requests) == 1
    assert len(sets.load("mbpp", path, tmp_path).exercises) == 1

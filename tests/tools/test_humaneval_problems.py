"""Reading problems, and making programs of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.cases.tiny_humaneval import GOOD, WRONG, written

from evals.sources.problems import read
from evals.sources.records import BadRecords


@pytest.mark.parametrize("name", ["tiny.jsonl", "tiny.jsonl.gz"])
def test_problems_are_read_in_order(tmp_path: Path, name: str) -> None:
    problems = read(written(tmp_path / name, *GOOD, WRONG))
    assert [each.task_id for each in problems] == ["Tiny/0", "Tiny/1", "Tiny/2"]


def passes(code: str) -> bool:
    try:
        exec(code, {})
    except AssertionError:
        return False
    return True


def test_a_program_passes_with_a_right_solution_alone(tmp_path: Path) -> None:
    good, _, wrong = read(written(tmp_path / "tiny.jsonl", *GOOD, WRONG))
    assert passes(good.program())
    assert not passes(wrong.program())
    assert passes(wrong.program("    return x + 1\n"))
    assert not passes(good.program("    return 0\n"))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("", "no exercise"),
        ("{", "tiny.jsonl:1: Expecting"),
        ("[]", "tiny.jsonl:1"),
        (json.dumps({"task_id": "x"}), "'prompt' is missing"),
        (json.dumps({**GOOD[0], "test": 3}), "test is not a text"),
    ],
)
def test_what_is_no_problem_is_refused_in_words(tmp_path: Path, line: str, said: str) -> None:
    path = tmp_path / "tiny.jsonl"
    path.write_text(line)
    with pytest.raises(BadRecords, match="tiny") as refused:
        read(path)
    assert said in str(refused.value)


@pytest.mark.parametrize("data", [b"\x1f\x8b", b"\x1f\x8bnot gzip", b"\xff\xfe"])
def test_a_broken_file_is_refused_in_words(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "tiny.jsonl.gz"
    path.write_bytes(data)
    with pytest.raises(BadRecords):
        read(path)
    with pytest.raises(BadRecords):
        read(tmp_path / "none.jsonl")

"""Checks, verdicts and questions on the command line."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from support.servers.tiny_service import Answer, job

from cli.render.events import parts
from cli.render.evidence import FULL_DETAIL, Detail
from cli.render.part_formats import plain_lines
from fettle.events import ReceivedEvent

CHECKED = {
    "revision": 1,
    "passed": False,
    "problem": None,
    "seconds": 0.25,
    "tests": [
        {"id": "test_a.py::test_one", "outcome": "failed", "detail": "assert 1 == 2\n\x1b[2J"},
        {"id": "test_a.py::test_two", "outcome": "passed", "detail": ""},
    ],
}


def rendered_lines(kind: str, **data) -> list[str]:
    at = datetime(2026, 11, 21, tzinfo=UTC)
    drawn = parts(ReceivedEvent(1, at, kind, data), Detail())
    return [line for part in drawn for line in plain_lines(part)]


def test_checks_count_the_passed_tests_and_name_the_failed_tests():
    assert rendered_lines("checked", **CHECKED) == [
        "checks: 1 of 2 passed in 0.25 s",
        "failed: test_a.py::test_one",
        "    > assert 1 == 2",
        "    > \\x1b[2J",
    ]
    lines = rendered_lines("checked", **{**CHECKED, "tests": [], "problem": "the time was over"})
    assert lines == ["checks: 0 of 0 passed in 0.25 s", "the time was over"]


@pytest.mark.parametrize(
    ("critique", "texts"),
    [
        ({"runs": ["r2", "r1"], "unmet": []}, ["verdict: revise, resting on run 2, 1"]),
        (
            {"runs": [], "unmet": [{"criterion": "floats", "location": "a.py:3", "reason": "no"}]},
            ["verdict: revise", "not met: floats (a.py:3): no"],
        ),
        (
            {"run": 2, "failed": ["floats"], "score": 0.5},
            ["verdict: revise, resting on run 2", "not met: floats"],
        ),
    ],
    ids=["runs", "unmet criteria", "of an older release"],
)
def test_a_verdict_names_its_runs_and_the_unmet_criteria(critique, texts):
    data = {"revision": 1, "verdict": "revise", "feedback": "", "overruled": None, **critique}
    assert rendered_lines("critiqued", **data) == texts


def test_the_critics_use_of_a_tool_is_named_and_its_output_is_shown_in_full():
    used = {"tool": "run_again", "path": None, "ok": False, "note": "pytest -q", "artifacts": []}
    by_critic = {**used, "by": "critic", "output": "exit code 1"}
    assert rendered_lines("tool_used", **used) == ["tool: run_again: pytest -q"]
    assert rendered_lines("tool_used", **{**used, "tool": "\x1b[2J"})[0].startswith(
        "tool: \\x1b[2J"
    )
    assert rendered_lines("tool_used", **by_critic)[0] == "critic's tool: run_again: pytest -q"
    in_full = [*parts(ReceivedEvent(1, datetime.now(UTC), "tool_used", by_critic), FULL_DETAIL)]
    assert [line for part in in_full for line in plain_lines(part)][1:] == ["    > exit code 1"]


def test_run_sends_checks_and_options(fettle, finished, tiny, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "test_a.py").write_text("def test_a(): pass\n")
    fettle(
        "run", "Sort", "--check", "test_a.py", "--check-command", "pytest -x", "--write-tests",
        "--questions", "--questions-expire", "60", "--parallel",
    )  # fmt: skip
    assert tiny.requests[0].body == {
        "task": "Sort",
        "checks": {"files": {"test_a.py": "def test_a(): pass\n"}, "command": "pytest -x"},
        "write_tests": True,
        "questions": True,
        "questions_expire_seconds": 60,
        "parallel": True,
    }


def test_a_check_command_without_checks_is_bad_usage(fettle, tiny):
    code, _, err = fettle("run", "Sort", "--check-command", "pytest")
    assert code == 2
    assert "--check PATH" in err
    assert tiny.requests == []


def test_run_sends_cases(fettle, finished, tiny, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cases = [{"argv": ["python", "app.py"], "stdout": "1\n"}]
    (tmp_path / "cases.json").write_text(json.dumps(cases))
    fettle("run", "Sort", "--cases", "cases.json")
    assert tiny.requests[0].body == {"task": "Sort", "checks": {"cases": cases}}


@pytest.mark.parametrize(
    "text",
    [
        "[",
        "{}",
        "[]",
        "[" * 100_000,
        '[{"argv": ["a"], "argv": ["b"]}]',
        '[{"argv": ["a"], "stdout_matches": "(cases.json"}]',
    ],
)
def test_a_file_without_cases_is_bad_usage(fettle, tiny, tmp_path, text):
    path = tmp_path / "cases.json"
    path.write_text(text)
    code, _, err = fettle("run", "Sort", "--cases", str(path))
    assert (code, "cases.json" in err, tiny.requests) == (2, True, [])


def test_answers_are_sent_in_their_order(fettle, tiny):
    tiny.on("POST /jobs/j1/review", Answer(200, job(status="queued")))
    fettle("review", "j1", "answer", "--answer", "ISO dates", "--answer", "")
    assert tiny.requests[0].body == {"action": "answer", "answers": ["ISO dates", ""]}

"""Checks and questions on the command line."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from support.servers.tiny_service import Answer, event, job, stream

from cli.client.events import Event
from cli.render.events import parts
from cli.render.job import outcome_parts
from cli.render.plain import lines
from cli.render.runs import Detail

CREATED = event(1, "submitted", by="me", task="x", review=False, model=None, priority="normal")


@pytest.fixture
def finished(tiny):
    tiny.on("POST /jobs", Answer(202, job(status="queued")))
    ended = event(2, "succeeded", approved_by="critic")
    tiny.on("GET /jobs/j1/events", stream(CREATED, ended))
    tiny.on("GET /jobs/j1", Answer(200, job()))


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


def shown(kind: str, **data) -> list[str]:
    at = datetime(2026, 11, 21, tzinfo=UTC)
    drawn = parts(Event(1, at, kind, data), Detail())
    return [line for part in drawn for line in lines(part)]


def test_checks_say_how_many_passed_and_what_did_not():
    assert shown("checked", **CHECKED) == [
        "checks: 1 of 2 passed in 0.25 s",
        "failed: test_a.py::test_one",
        "    > assert 1 == 2",
        "    > \\x1b[2J",
    ]
    found = shown("checked", **{**CHECKED, "tests": [], "problem": "the time was over"})
    assert found == ["checks: 0 of 0 passed in 0.25 s", "the time was over"]


def test_what_an_exit_code_alone_has_decided_is_said():
    test = {"id": "make check", "outcome": "passed", "detail": ""}
    alone = {**CHECKED, "judged_by": "exit_code", "passed": True, "tests": [test]}
    assert shown("checked", **alone) == ["checks: passed by exit code alone in 0.25 s: make check"]
    failed = {**test, "outcome": "failed", "detail": "exit code 2"}
    assert shown("checked", **{**alone, "passed": False, "tests": [failed]}) == [
        "checks: not passed, by exit code alone, in 0.25 s",
        "failed: make check",
        "    > exit code 2",
    ]
    silent = {**alone, "passed": False, "tests": [], "problem": "the time was over"}
    assert shown("checked", **silent)[1:] == ["the time was over"]


def test_the_report_of_a_result_is_that_of_what_it_hands_back():
    best = {**CHECKED, "passed": True, "tests": CHECKED["tests"][1:]}
    ended = job(checks=CHECKED)
    ended["result"] = {**ended["result"], "approved_by": None, "checks": best}
    found = [line for part in outcome_parts(ended) for line in lines(part)]
    assert "checks: 1 of 1 passed in 0.25 s" in found
    found = [line for part in outcome_parts({**ended, "result": None}) for line in lines(part)]
    assert "checks: 1 of 2 passed in 0.25 s" in found


def test_run_sends_checks_and_wishes(fettle, finished, tiny, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "test_a.py").write_text("def test_a(): pass\n")
    fettle(
        "run", "Sort", "--check", "test_a.py", "--check-command", "pytest -x", "--write-tests",
        "--questions", "--questions-expire", "60", "--parallel",
    )  # fmt: skip
    assert tiny.asked[0].body == {
        "task": "Sort",
        "checks": {"files": {"test_a.py": "def test_a(): pass\n"}, "command": "pytest -x"},
        "write_tests": True,
        "questions": True,
        "questions_expire_seconds": 60,
        "parallel": True,
    }


def test_a_command_without_checks_is_a_mistake(fettle, tiny):
    code, _, err = fettle("run", "Sort", "--check-command", "pytest")
    assert code == 2
    assert "--check PATH" in err
    assert tiny.asked == []


def test_run_sends_cases(fettle, finished, tiny, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cases = [{"argv": ["python", "app.py"], "stdout": "1\n"}]
    (tmp_path / "cases.json").write_text(json.dumps(cases))
    fettle("run", "Sort", "--cases", "cases.json")
    assert tiny.asked[0].body == {"task": "Sort", "checks": {"cases": cases}}


@pytest.mark.parametrize(
    "text", ["[", "{}", "[]", '[{"argv": ["a"], "stdout_matches": "(cases.json"}]']
)
def test_a_file_without_cases_is_a_mistake(fettle, tiny, tmp_path, text):
    path = tmp_path / "cases.json"
    path.write_text(text)
    code, _, err = fettle("run", "Sort", "--cases", str(path))
    assert (code, "cases.json" in err, tiny.asked) == (2, True, [])


def test_a_command_beside_cases_is_marked_and_notices_are_shown():
    tests = [{"id": name, "outcome": "passed", "detail": ""} for name in ("make check", "case 1")]
    notice = {"file": "a.py", "line": 3, "what": "gc"}
    both = {**CHECKED, "passed": True, "judged_by": "exit_code", "tests": tests}
    assert shown("checked", **{**both, "notices": [notice]}) == [
        "checks: 2 of 2 passed in 0.25 s",
        "by its exit code alone: make check",
        "notice: a.py:3 names gc, which tests are run with",
    ]


def test_run_without_a_terminal_says_how_to_answer(fettle, finished, tiny):
    opened = event(2, "review_opened", review_id="v1", kind="questions")
    end = event(3, "succeeded", approved_by="ann")
    tiny.on("GET /jobs/j1/events", stream(CREATED, opened, end))
    questions = {"task": "T", "questions": [{"question": "Which?", "default": "Both."}]}
    review = {"id": "v1", "kind": "questions", "opened_at": "", "payload": questions}
    waiting = job(status="awaiting_review", review=review)
    tiny.on("GET /jobs/j1", Answer(200, waiting), Answer(200, job()))
    _, out, _ = fettle("run", "Sort", "--questions")
    assert "    Which?\nelse: Both.\n" in out
    assert "decide: fettle review j1 answer --answer TEXT ... (one for each question)\n" in out


def test_answers_are_sent_in_their_order(fettle, tiny):
    tiny.on("POST /jobs/j1/review", Answer(200, job(status="queued")))
    fettle("review", "j1", "answer", "--answer", "ISO dates", "--answer", "")
    assert tiny.asked[0].body == {"action": "answer", "answers": ["ISO dates", ""]}


@pytest.mark.parametrize("words", [("approve", "--answer", "x")])
def test_answers_go_with_answer_alone(fettle, words):
    assert fettle("review", "j1", *words)[0] == 2

"""Which revision a job hands back, with its answer, its files and its report of checks."""

from __future__ import annotations

from typing import Any

import pytest

from agents.best import best

Fields = dict[str, Any]
RUNS = "import runpy\nrunpy.run_path(...)"


def revision(number: int, *, ok: bool = True, left: str = "", **more: Any) -> Fields:
    """What one revision has come to: one run, which left the files that it ends with."""
    return {"number": number, "ok": ok, "ran_on": left or f"w{number}", **more}


def state(*revisions: Fields, **more: Any) -> Fields:
    runs, answers, critiques, reports = [], [], [], []
    for each in revisions:
        number, passed = each["number"], each.get("passed")
        why = None if each["ok"] else {"class": "key", "cause": "KeyError"}
        run = {"id": f"r{number}", "number": number, "revision": number, "failure": why}
        runs.append(
            {**run, "succeeded": each["ok"], "workspace": each["ran_on"], "code": {"text": RUNS}}
        )
        files = {f"{number}.py": {"name": f"{number}.py"}}
        answer = {"revision": number, "text": f"answer {number}", "workspace": f"w{number}"}
        answers.append({**answer, "artifacts": files})
        critiques.append({"revision": number, "score": each.get("score")})
        if passed is not None:
            tests = [
                {"id": str(n), "outcome": "passed" if n < passed else "failed"} for n in range(3)
            ]
            reports.append({"revision": number, "passed": passed == 3, "tests": tests})
    told = {"runs": runs, "answers": answers, "critiques": critiques, "reports": reports}
    last = {"artifacts": answers[-1]["artifacts"], "workspace": answers[-1]["workspace"]}
    return {**told, **last, "checked": reports[-1] if reports else None, **more}


@pytest.mark.parametrize(
    ("revisions", "chosen"),
    [
        ([revision(1), revision(2)], 2),  # the later one
        ([revision(1), revision(2, ok=False)], 1),
        ([revision(1, ok=False), revision(2, ok=False)], 2),
        ([revision(1, score=0.9), revision(2, score=0.1)], 1),
        ([revision(1, score=0.1), revision(2, score=0.9), revision(3)], 2),
        ([revision(1, score=0.9, ok=False), revision(2, score=0.1)], 2),  # shown before told
        ([revision(1, score=0.5), revision(2, left="other", score=0.9)], 1),  # not what was run
        ([revision(1, passed=3, score=0.1), revision(2, passed=2, score=0.9)], 1),
        ([revision(1, passed=1), revision(2, passed=2), revision(3, passed=2, ok=False)], 2),
    ],
)
def test_answer_files_and_report_are_those_of_the_best_revision(
    revisions: list[Fields], chosen: int
) -> None:
    found = best(now := state(*revisions))
    assert (found.revision, found.answer) == (chosen, f"answer {chosen}")
    assert (list(found.artifacts), found.workspace) == ([f"{chosen}.py"], f"w{chosen}")
    assert found.earlier == (chosen != len(revisions))
    if now["reports"]:
        assert found.checked == now["reports"][chosen - 1]


def test_an_open_failure_speaks_against_a_revision() -> None:
    now = state(revision(1), revision(2))
    failed = {**now["runs"][1], "id": "r3", "number": 3, "succeeded": False, "failure": {}}
    now["runs"].append(failed)
    assert best(now).revision == 1
    cure = {"run": "r4", "of": "r3", "closed": ["r3"], "fixed": True}
    now["runs"].append({**failed, "id": "r4", "succeeded": True, "failure": None})
    assert best({**now, "repairs": [cure]}).revision == 2


def test_a_look_is_nothing_that_a_revision_has_shown() -> None:
    now = state(revision(1), revision(2))
    now["runs"][1] |= {"tool": "shell", "code": {"text": "ls"}}
    assert best(now).revision == 1


def test_a_revision_s_files_are_those_of_its_last_edit() -> None:
    now = state(revision(1, passed=3, left="hers"), revision(2, passed=2))
    files = [{"workspace": each, "artifacts": {each: {"name": each}}} for each in ("his", "hers")]
    now["edits"] = [{"revision": 1, **each} for each in files]
    found = best(now)
    assert (found.revision, found.workspace, list(found.artifacts)) == (1, "hers", ["hers"])
    assert found.checked == now["reports"][0]
    now["reports"], now["checked"] = [], None  # the score and what the runs have shown decide
    now["runs"][1]["workspace"] = "other"
    assert best(now).workspace == "hers"


def test_what_is_approved_is_the_last() -> None:
    now = state(revision(1, score=0.9), revision(2, ok=False), approved_by="Ada")
    assert (best(now).revision, best(now).earlier) == (2, False)


def test_an_older_checkpoint_hands_back_the_files_that_there_are() -> None:
    now = state(revision(1), revision(2, ok=False))
    for answer in now["answers"]:
        del answer["artifacts"]
    found = best(now)
    assert (found.answer, list(found.artifacts), found.earlier) == ("answer 1", ["2.py"], False)


def test_without_an_answer_there_are_only_files() -> None:
    found = best({"job": {}, "artifacts": {"a.py": {}}})
    assert (found.revision, found.answer, list(found.artifacts)) == (None, "", ["a.py"])


def test_it_is_the_same_once_the_files_are_brought_back() -> None:
    now = state(revision(1, passed=2), revision(2, passed=1))
    first = best(now)
    back = {"artifacts": first.artifacts, "workspace": first.workspace, "checked": first.checked}
    assert best({**now, **back}) == first

"""Every prompt renders with what its node gives it, and with nothing less."""

from __future__ import annotations

import re

import pytest
from jinja2 import UndefinedError

from agents.checks.check_reports import failing, shown
from agents.failures.failure import FailureClass
from agents.nodes.critic import evidence
from agents.prompts import PROMPTS, render
from sandbox.protocol import Limits

JOB = {"task": "Add {{ two }} numbers.", "earlier": [{"task": "T", "summary": "S"}], "files": ["a"]}
RUN = {
    "id": "r1",
    "number": 1,
    "revision": 1,
    "by": "Ada",
    "code": {"text": "print(1)"},
    "end": "exited",
    "exit_code": 0,
    "signal": None,
    "stdout": {"text": "1\n"},
    "stderr": {"text": ""},
    "artifacts": [{"name": "a.png"}],
    "succeeded": True,
}
HOLLOW = {
    **RUN,
    "tool": "verify",
    "code": {"text": "pytest"},
    "succeeded": False,
    "failure": {"class": "unknown", "cause": "no tests were found", "exception": None},
}
CLARIFIED = [{"question": "Which?", "answer": "Both.", "by": "Ada"}]
CHECKED = {
    "revision": 1,
    "passed": False,
    "problem": None,
    "tests": [
        {"id": "test_a.py::test_two", "outcome": "passed", "detail": ""},
        {"id": "test_a.py::test_one", "outcome": "failed", "detail": "assert 1 == 2"},
    ],
}
EXPERIMENT = {"replaced": ["a.py"], "still_green": False}
VERIFIED = {
    "revision": 1,
    "command": "pytest",
    "run": "r7",
    "holds": True,
    "problem": None,
    "experiments": [EXPERIMENT],
}
VALUES: dict[str, dict[str, object]] = {
    "planner/system": {"install": True, "fetch": False, "parallel": True},
    "task": {**JOB, "clarified": CLARIFIED},
    "asker/system": {"most": 3},
    "asker/task": {**JOB, "clarified": []},
    "tester/system": {"most": 3},
    "executor/system": {"tools": ["install", "fetch"]},
    "executor/task": {
        **JOB,
        "plan": ["One.", "Two."],
        "clarified": CLARIFIED,
        "checks": ["test_a.py"],
        "interface": "solution.py: add(a, b)",
        "verify": "pytest -q",
    },
    "executor/feedback": {
        "by": "Ada",
        "text": "More.",
        "edits": [{**RUN, "ending": "exit code 0"}],
        "verified": {"problem": "the verification `pytest` failed: no tests", "run": HOLLOW},
        **failing({"revision": 1, "checked": CHECKED}),
    },
    "executor/verify": {},
    "executor/step": {
        "step": 2,
        "does": "Two.",
        "others": [1, 3],
        "done": [{"step": 4, "does": "Four.", "text": "Made d.py.", "failed": None}],
    },
    "executor/joins": {
        "branches": [{"step": 1, "does": "One.", "text": "Made a.py.", "failed": "KeyError: 'a'"}],
        "conflicts": [
            {"path": "a.py", "steps": [1, 2], "copies": ["a.conflict-step2.py"], "what": "changed"}
        ],
        "left_out": [{"step": 3, "why": "the workspace has at most 3 files"}],
        "rest": [4],
    },
    "executor/bound": {"steps": 25},
    "executor/broken_call": {},
    "executor/no_repair": {},
    "executor/paused": {},
    "executor/left_out": {"replies": 7, "tools": [("python", 6), ("shell", 1)]},
    "executor/hint": {"failure": {"class": "key"}, "install": True, "same": "r1"},
    "executor/taken_over": {"tried": [HOLLOW]},
    "executor/spent": {},
    "executor/stuck": {"why": "six repairs in a row have failed"},
    "critic/system": {},
    "critic/evidence": evidence(
        {
            "job": JOB,
            "plan": ["One."],
            "revision": 1,
            "artifacts": {"a.png": {}},
            "runs": [{**RUN, "id": f"r{n}"} for n in range(1, 4)]
            + [{**HOLLOW, "id": "r4"}]
            + [{**RUN, "id": f"r{n}"} for n in range(5, 8)],
            "critiques": [{"revision": 1, "feedback": "Less."}],
            "checked": CHECKED,
            "verifications": [VERIFIED],
        },  # type: ignore[typeddict-item]
        {"a.py": "x = 1\n"},
        Limits(),
    ),
    "router/system": {},
    "summary/system": {},
    "summary/task": {"task": "Sort a list.", "answer": "It is sorted."},
    "router/task": {"task": "Sort a list.", "files": 2},
    "repair": {"error": "steps: too few", "tool": "Plan"},
}


def test_every_prompt_is_listed() -> None:
    assert {
        path.relative_to(PROMPTS).as_posix().removesuffix(".md.j2")
        for path in PROMPTS.rglob("*.j2")
    } == set(VALUES)


@pytest.mark.parametrize("name", VALUES)
def test_a_prompt_renders_in_full(name: str) -> None:
    text = render(name, **VALUES[name])
    assert text.strip()
    assert "{%" not in text
    assert "\n\n\n\n" not in text


@pytest.mark.parametrize("name", [name for name, values in VALUES.items() if values])
def test_a_missing_value_is_an_error(name: str) -> None:
    with pytest.raises(UndefinedError):
        render(name)


@pytest.mark.parametrize("kind", FailureClass)
def test_every_class_of_failure_has_a_hint_of_its_own(kind: str) -> None:
    hint = render("executor/hint", failure={"class": kind}, install=False, same=None)
    known = render("executor/hint", failure={"class": "unknown"}, install=False, same=None)
    assert hint.startswith(f"hint ({kind.replace('_', ' ')}): ")
    assert (hint.partition(": ")[2] == known.partition(": ")[2]) == (kind == "unknown")


def test_a_class_of_a_later_release_gets_the_common_hint() -> None:
    assert "Read how it ended" in render(
        "executor/hint", failure={"class": "new"}, install=False, same=None
    )


def test_what_people_type_is_not_a_template() -> None:
    assert "Add {{ two }} numbers." in render("task", **VALUES["task"])


def test_the_critic_sees_the_latest_runs_and_the_files() -> None:
    text = render("critic/evidence", **VALUES["critic/evidence"])
    assert "(2 earlier ones are left out)" in text
    assert "=== r3, revision 1, run by Ada: exit code 0" in text
    assert "=== r2," not in text
    assert "=== r4, revision 1, run by Ada: exit code 0\n\nThat is a failure: no tests" in text
    assert "\n\nverification:\npytest\n" in text
    assert "=== file a.py, as it is now:\n\nx = 1\n" in text
    assert "- revision 1: Less." in text


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (VERIFIED, "`pytest` (r7), passed\n- With a.py unable to load, it failed, as it should."),
        (
            {**VERIFIED, "holds": False, "problem": "it proves nothing"}
            | {"experiments": [{**EXPERIMENT, "still_green": True}]},
            "`pytest` (r7), no evidence: it proves nothing\n- With a.py unable to load, it still",
        ),
        (
            {**VERIFIED, "command": None, "holds": False, "problem": "not executable work"},
            "as they are now: no evidence: not executable work",
        ),
    ],
)
def test_the_critic_sees_the_verification(found: dict[str, object], said: str) -> None:
    text = render("critic/evidence", **{**VALUES["critic/evidence"], "verified": found})
    assert said in text


def test_the_executor_hears_why_its_verification_is_no_evidence() -> None:
    printed = {**HOLLOW, "stdout": {"text": "1 failed\n"}, "stderr": {"text": ""}}
    found = {"problem": "it failed", "run": printed}
    told = render("executor/feedback", **{**VALUES["executor/feedback"], "verified": found})
    assert "The verification: it failed.\n\nstdout of r1:\n1 failed\n" in told
    found["run"] = None
    told = render("executor/feedback", **{**VALUES["executor/feedback"], "verified": found})
    assert "The verification: it failed." in told
    assert "stdout of" not in told


def test_both_are_told_which_checks_fail() -> None:
    told = render("executor/feedback", **VALUES["executor/feedback"])
    assert "(1 of 2 pass)" in told
    assert "test_a.py::test_one: failed\nassert 1 == 2\n" in told
    assert "test_two" not in told
    seen = render("critic/evidence", **VALUES["critic/evidence"])
    assert "Acceptance checks of revision 1: not passed\n- test_a.py::test_one: failed" in seen


def test_the_critic_is_told_where_an_exit_code_alone_has_decided() -> None:
    for judged, said in (("exit_code", True), ("tests", False), (None, False)):
        checked = shown({"revision": 1, "checked": {**CHECKED, "judged_by": judged}})
        told = render("critic/evidence", **{**VALUES["critic/evidence"], "checked": checked})
        assert ("judged only by the exit code" in told) is said
    assert shown({"revision": 1, "checked": CHECKED}) == {
        **CHECKED,
        "judged_by": None,
        "notices": [],
        "tests": CHECKED["tests"][::-1],
    }


def test_the_critic_is_shown_where_the_work_touches_test_machinery() -> None:
    notices = [{"file": "solution.py", "line": 3, "what": "sys.modules"}]
    checked = shown({"revision": 1, "checked": {**CHECKED, "notices": notices}})
    seen = render("critic/evidence", **{**VALUES["critic/evidence"], "checked": checked})
    assert "- solution.py, line 3: sys.modules\n" in seen


def test_a_job_without_checks_or_questions_is_told_of_none() -> None:
    plain = {**JOB, "plan": ["One."], "clarified": [], "checks": [], "interface": "", "verify": ""}
    assert render("executor/task", **plain).endswith("The plan:\n\n1. One.\n")
    assert render("task", **{**JOB, "clarified": []}).endswith("Add {{ two }} numbers.")


def test_the_hint_of_an_import_knows_whether_packages_can_be_installed() -> None:
    given: dict[str, object] = {"failure": {"class": "import"}, "same": None}
    with_it = render("executor/hint", **given, install=True)
    assert "`install`" in with_it
    assert "nothing can be downloaded" not in with_it
    without = render("executor/hint", **given, install=False)
    assert "`install`" not in without
    assert "nothing can be downloaded" in without


def test_every_prompt_is_in_the_table_of_the_docs() -> None:
    page = (PROMPTS.parents[1] / "docs" / "agents.md").read_text()
    table = page.partition("## Prompts")[2].partition("## Adding")[0]
    rows = re.findall(r"^\| (`.+?`) \|", table, re.MULTILINE)
    named = [name for row in rows for name in re.findall(r"`([\w/]+)`", row)]
    assert sorted(named) == sorted(VALUES)

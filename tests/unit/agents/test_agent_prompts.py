"""Every prompt renders with what its node gives it, and with nothing less."""

from __future__ import annotations

import re

import pytest
from jinja2 import UndefinedError

from agents.checks.check_reports import failing
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


def test_what_people_type_is_not_a_template() -> None:
    assert "Add {{ two }} numbers." in render("task", **VALUES["task"])


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

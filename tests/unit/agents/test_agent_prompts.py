"""Every prompt renders with what its node gives it, and with nothing less."""

from __future__ import annotations

import pytest
from jinja2 import UndefinedError

from agents.nodes.critic import evidence
from agents.prompting import PROMPTS, render
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
}
VALUES: dict[str, dict[str, object]] = {
    "planner_system": {},
    "planner_task": JOB,
    "executor_system": {"tools": ["install", "fetch"]},
    "executor_task": {**JOB, "plan": ["One.", "Two."]},
    "executor_feedback": {
        "by": "Ada",
        "text": "More.",
        "edits": [{**RUN, "ending": "exit code 0"}],
    },
    "executor_bound": {"steps": 25},
    "executor_broken_call": {},
    "executor_unmended": {},
    "critic_system": {},
    "critic_evidence": evidence(
        {
            "job": JOB,
            "plan": ["One."],
            "revision": 1,
            "artifacts": {"a.png": {}},
            "runs": [{**RUN, "id": f"r{n}"} for n in range(1, 8)],
            "critiques": [{"revision": 1, "feedback": "Less."}],
        },  # type: ignore[typeddict-item]
        {"a.py": "x = 1\n"},
        Limits(),
    ),
    "repair": {"error": "steps: too few", "tool": "Plan"},
}


def test_every_prompt_is_listed() -> None:
    assert {path.name.removesuffix(".md.j2") for path in PROMPTS.iterdir()} == set(VALUES)


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


def test_what_people_type_is_not_a_template() -> None:
    assert "Add {{ two }} numbers." in render("planner_task", **VALUES["planner_task"])


def test_the_critic_sees_the_latest_runs_and_the_files() -> None:
    text = render("critic_evidence", **VALUES["critic_evidence"])
    assert "(2 earlier ones are left out)" in text
    assert "=== r3, revision 1, run by Ada: exit code 0" in text
    assert "=== r2," not in text
    assert "=== file a.py, as it is now:\n\nx = 1\n" in text
    assert "- revision 1: Less." in text

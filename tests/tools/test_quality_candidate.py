"""Which files of a job count as its first attempt."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from fettle.events import ReceivedEvent
from lab.evals.run.candidate import first_attempt, stand_in


def story(*facts: tuple[str, dict[str, Any]]) -> list[ReceivedEvent]:
    now = datetime.now(UTC)
    return [ReceivedEvent(seq, now, kind, data) for seq, (kind, data) in enumerate(facts, 1)]


def wrote(name: str, digest: str) -> tuple[str, dict[str, Any]]:
    return "tool_used", {"tool": "write_file", "artifacts": [{"name": name, "digest": digest}]}


def ran(number: int, **made: str) -> tuple[str, dict[str, Any]]:
    artifacts = [{"name": f"{name}.py", "digest": digest} for name, digest in made.items()]
    return "run_finished", {"number": number, "artifacts": artifacts}


ANSWERED = ("answered", {"revision": 1, "text": "Done."})


def test_the_first_attempt_is_the_workspace_after_the_first_run():
    events = story(
        wrote("solution.py", "one"),
        wrote("other.py", "x"),
        ran(1, other="y"),
        wrote("solution.py", "two"),
        ran(2),
    )
    candidate = first_attempt(events, "solution.py")
    assert (candidate.versions, candidate.program) == (
        {"solution.py": "one", "other.py": "y"},
        None,
    )


def test_the_first_program_replaces_a_missing_file():
    candidate = first_attempt(story(ran(1), wrote("solution.py", "repaired")), "solution.py")
    assert (candidate.versions, candidate.program) == ({}, 1)


def test_an_answer_before_any_run_ends_the_attempt():
    events = story(wrote("solution.py", "one"), ANSWERED, wrote("solution.py", "two"), ran(1))
    assert first_attempt(events, "solution.py").versions == {"solution.py": "one"}
    candidate = first_attempt(story(ANSWERED, wrote("solution.py", "two"), ran(1)), "solution.py")
    assert (candidate.versions, candidate.program) == ({}, None)


def test_the_last_successful_run_replaces_a_missing_file_at_the_end():
    def run(number, *, well, **more):
        return {"number": number, "succeeded": well, **more}

    assert stand_in([]) is None
    assert stand_in([run(1, well=False)]) == 1
    assert stand_in([run(1, well=True), run(2, well=True), run(3, well=False)]) == 2
    assert stand_in([run(1, well=True), run(2, well=True, tool="verify")]) == 1

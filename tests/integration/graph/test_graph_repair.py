"""Failures: hints, the texts of a repair for the model, escalation, and the end of a pass."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml
from support.graph.graphs import (
    PLAN,
    Journey,
    Planned,
    PlannedSandbox,
    call,
    needs,
    only,
    printed,
    turn,
    verdict,
)

from agents.graph.job_input import job_fields
from agents.models.options import ModelOptions
from agents.models.pool import ModelPool
from agents.models.role_models import Chains, RoleModels
from sandbox.protocol import RunResult

TASK = "Add two numbers."


def failed(error: str, line: int = 1) -> RunResult:
    """A run that ended with an exception."""
    head = f'Traceback (most recent call last):\n  File "/run/main.py", line {line}, in <module>\n'
    return printed(error=f"{head}    x\n{error}\n", code=1)


ANSWERS: dict[str, Planned] = {
    "total = one": failed("KeyError: 'a'"),
    "total = two": failed("TypeError: no"),
    "total = three": failed("ValueError: no"),
    "total = again": failed("KeyError: 'a'", line=9),
    "total = good": printed("3\n", notes__txt=b"3\n"),
    "check.py": needs("sums.py", b"right\n"),
}


def runs(expect: str, code: str, after: int) -> Any:
    return turn("executor", expect, call("python", code=code), after=after)


def edited_and_ran(expect: str, code: str, after: int) -> Any:
    """The executor changes a file, and runs a program."""
    write = call("write_file", path="notes.txt", content=code)
    return turn("executor", expect, write, call("python", code=code), after=after)


def wrote(expect: str, content: str, after: int) -> Any:
    """The executor writes the file, and verifies it."""
    write = call("write_file", path="sums.py", content=content)
    check = call("verify", command=["python", "check.py"])
    return turn("executor", expect, write, check, after=after)


TWO_REPAIRS_FAIL = (
    PLAN,
    edited_and_ran(TASK, "total = one", 0),
    edited_and_ran("KeyError: 'a'", "total = two", 1),
    edited_and_ran("TypeError: no", "total = three", 2),
    verdict("=== r4", "approve"),
)


def escalating(
    journey: Journey, folder: Path, *turns: Any, roles: tuple[str, ...] = ("executor",)
) -> Journey:
    """The journey, with a second model that plays these turns once repairs have failed."""
    written = {"about": "Written by a test; no provider was called.", "turns": list(turns)}
    (folder / "big.yaml").write_text(yaml.safe_dump(written, sort_keys=False))
    chains = Chains(("recording:side",), stronger=dict.fromkeys(roles, ("recording:big",)))
    pool = ModelPool(ModelOptions(recordings=folder))
    journey.ports = journey.with_ports(models=RoleModels(pool, chains))
    return journey


IMPORT = "ImportError: sums.py cannot be loaded"
"""The failure of a wrong file's check."""


async def test_a_repair_is_a_verification_that_passes_after_a_failed_one(
    tmp_path: Path,
) -> None:
    turns = [
        PLAN,
        wrote(TASK, "one\nwrong\n", 0),
        runs(IMPORT, "total = good", 1),
        wrote("exit code 0", "also wrong\n", 2),
        wrote("The failure is the same as before the last change", "right\n", 3),
        turn("executor", "exit code 0", "Fixed.", after=4),
        verdict("=== r4", "approve"),
    ]
    journey = Journey.plan(tmp_path, turns, PlannedSandbox(ANSWERS))
    await journey.begin(job_fields(TASK))
    assert (await journey.outcome()).approved
    assert only(journey.event_data("repaired")) == {
        "run": "r4", "of": "r3", "revision": 1, "class": "import", "cause": IMPORT,
        "model": "recording:side", "level": 0, "attempt": 2,
        "lines": {"added": 1, "removed": 1},
        "diff": {
            "text": "--- a/sums.py\n+++ b/sums.py\n@@ -1,2 +1,2 @@\n-also wrong\n+right\n ",
            "dropped_bytes": 0, "digest": None,
        },
    }  # fmt: skip
    kinds = journey.kinds()
    assert kinds[kinds.index("repaired") - 1] == "run_finished"


async def test_a_repair_may_come_in_the_next_revision_and_with_the_last_run(
    tmp_path: Path,
) -> None:
    write = call("write_file", path="sums.py", content="right\n")
    turns = [
        PLAN,
        wrote(TASK, "wrong\n", 0),
        turn("executor", IMPORT, "I do not know.", after=1),
        verdict("(revision 1)", "revise", "Fix it."),
        turn("executor", f"failed: {IMPORT}", write, after=2),
        turn("executor", "wrote sums.py", "Fixed.", after=3),
        verdict("(revision 2)", "approve"),
    ]
    journey = Journey.plan(tmp_path, turns, PlannedSandbox(ANSWERS))
    await journey.begin(job_fields(TASK))
    data = only(journey.event_data("repaired"))
    assert (data["run"], data["of"], data["revision"], data["attempt"]) == ("r2", "r1", 2, 1)
    assert data["lines"] == {"added": 1, "removed": 1}


async def test_after_two_failed_repairs_the_next_model_continues_and_learns_of_the_repairs(
    tmp_path: Path,
) -> None:
    journey = escalating(
        Journey.plan(tmp_path, TWO_REPAIRS_FAIL, PlannedSandbox(ANSWERS)),
        tmp_path,
        runs(
            "- r2 failed: TypeError: no (the program, line 1: x)\n- r3 failed: ValueError: no",
            "total = good",
            3,
        ),
        turn("executor", "exit code 0", "Fixed.", after=4),
    )
    await journey.begin(job_fields(TASK))
    assert (await journey.outcome()).approved
    messages = [
        data["model"] for data in journey.event_data("model_called") if data["role"] == "executor"
    ]
    assert messages == ["recording:side"] * 3 + ["recording:big"] * 2
    state = (await journey.graph.aget_state(journey.config)).values
    assert state["level"] == 1


async def test_the_last_model_is_stopped_if_it_repeats_itself(
    tmp_path: Path,
) -> None:
    again = [("total = one", "total = again")[n % 2] for n in range(4)]
    turns = [
        PLAN,
        *(edited_and_ran(TASK if n == 0 else "KeyError: 'a'", again[n], n) for n in range(4)),
        turn("executor", "Look at the key.", call("python", code="total = good"), after=5),
        turn("executor", "exit code 0", "Fixed.", after=6),
        verdict("(revision 1)", "revise", "Look at the key."),
        verdict("(revision 2)", "approve"),
    ]
    journey = Journey.plan(tmp_path, turns, PlannedSandbox(ANSWERS))
    await journey.begin(job_fields(TASK))
    first, second = journey.event_data("answered")
    assert first["text"].startswith("The work ended because the repairs do not change the failure")
    assert second["text"] == "Fixed."
    assert (await journey.outcome()).approved


async def test_failed_exploration_does_not_end_a_pass(tmp_path: Path) -> None:
    greps = {f"grep {word} .": printed(code=1) for word in ("a", "b", "c", "d", "e", "f", "g")}
    read = [
        turn("executor", TASK if n == 0 else "exit code 1", call("shell", command=line), after=n)
        for n, line in enumerate(greps)
    ]
    programs = ["total = one", "total = again"] * 2
    tried = [runs("exit code 1", code, n) for n, code in enumerate(programs, start=len(read))]
    turns = [
        PLAN,
        *read,
        *tried,
        wrote("KeyError: 'a'", "right\n", len(read) + len(tried)),
        turn("executor", "exit code 0", "Found it.", after=len(read) + len(tried) + 1),
        verdict("=== r12", "approve"),
    ]
    journey = escalating(
        Journey.plan(tmp_path, turns, PlannedSandbox({**ANSWERS, **greps})), tmp_path
    )
    await journey.begin(job_fields(TASK))
    assert (await journey.outcome()).approved
    assert journey.event_data("answered")[0]["text"] == "Found it."


async def test_a_repair_within_one_reply_is_a_repair(tmp_path: Path) -> None:
    check = call("verify", command=["python", "check.py"])
    edits = [
        call("write_file", path="sums.py", content=content) for content in ("wrong\n", "right\n")
    ]
    turns = [
        PLAN,
        turn("executor", TASK, edits[0], check, edits[1], check, after=0),
        turn("executor", "exit code 0", "Fixed.", after=1),
        verdict("=== r2", "approve"),
    ]
    journey = Journey.plan(tmp_path, turns, PlannedSandbox(ANSWERS))
    await journey.begin(job_fields(TASK))
    data = only(journey.event_data("repaired"))
    assert (data["run"], data["of"], data["lines"]) == ("r2", "r1", {"added": 1, "removed": 1})

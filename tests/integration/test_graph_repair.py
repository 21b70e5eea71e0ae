"""The loop that mends: hints, what is told of each repair, escalation, and where it stops."""

from __future__ import annotations

import secrets
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from graph_house import PLAN, Crash, Journey, PlannedSandbox, call, only, printed, turn, verdict
from langgraph.checkpoint.memory import InMemorySaver

from agents.graph import build
from agents.job import JobInput
from agents.memory import MemoryWorkspace
from agents.models import Chains, ModelOptions, ModelPool
from agents.ports import Bounds
from agents.role_models import RoleModels
from agents.turn import Turn
from sandbox.protocol import RunResult

TASK = "Add two numbers."


def failed(error: str, line: int = 1) -> RunResult:
    """A run that an exception has ended."""
    told = f'Traceback (most recent call last):\n  File "/run/main.py", line {line}, in <module>\n'
    return printed(error=f"{told}    x\n{error}\n", code=1)


ANSWERS: dict[str, RunResult | Exception] = {
    "total = one": failed("KeyError: 'a'"),
    "total = two": failed("TypeError: no"),
    "total = three": failed("ValueError: no"),
    "total = again": failed("KeyError: 'a'", line=9),
    "total = good": printed("3\n"),
    "from sums import add": printed("3\n"),
}


def runs(expect: str, code: str, after: int) -> Any:
    return turn("executor", expect, call("python", code=code), after=after)


TWO_REPAIRS_FAIL = (
    PLAN,
    runs(TASK, "total = one", 0),
    runs("hint (key)", "total = two", 1),
    runs("hint (type)", "total = three", 2),
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


async def test_a_repair_is_told_with_its_cause_its_change_and_its_model(tmp_path: Path) -> None:
    turns = [
        PLAN,
        runs(TASK, "total = one", 0),
        runs("hint (key): The key or index is not there.", "total = good", 1),
        turn("executor", "exit code 0", "Mended.", after=2),
        verdict("=== r2", "approve"),
    ]
    journey = Journey.plan(tmp_path, turns, PlannedSandbox(ANSWERS))
    await journey.begin(JobInput(TASK))
    assert (await journey.outcome()).approved
    assert only(journey.told("repaired")) == {
        "run": "r2", "of": "r1", "revision": 1, "class": "key",
        "cause": "KeyError: 'a' (the program, line 1: x)", "model": "recording:side", "level": 0,
        "attempt": 1, "fixed": True, "closed": ["r1"], "same": None,
        "lines": {"added": 1, "removed": 1},
        "diff": {
            "text": "--- a/program\n+++ b/program\n@@ -1 +1 @@\n-total = one\n+total = good",
            "dropped_bytes": 0, "digest": None,
        },
    }  # fmt: skip
    kinds = journey.kinds()
    assert kinds[kinds.index("repaired") - 1] == "run_finished"


async def test_the_change_is_that_of_the_files_the_model_wrote(tmp_path: Path) -> None:
    turns = [
        PLAN,
        turn("executor", TASK, call("write_file", path="sums.py", content="a = 1\nb = 2\n")),
        runs("wrote sums.py", "from sums import add", 1),
        turn(
            "executor", "hint (import)",
            call("write_file", path="sums.py", content="a = 1\nadd = 2\n"), after=2,
        ),
        runs("wrote sums.py", "from sums import add", 3),
        turn("executor", "exit code 0", "Mended.", after=4),
        verdict("=== r2", "approve"),
    ]  # fmt: skip
    answers = dict(ANSWERS)
    sandbox = PlannedSandbox(answers)
    journey = Journey.plan(tmp_path, turns, sandbox)
    answers["from sums import add"] = failed("ImportError: cannot import name 'add'")

    class Mended(PlannedSandbox):
        async def run(self, command: Any, limits: Any) -> RunResult:
            result = await super().run(command, limits)
            return printed("3\n") if b"add" in command.files["sums.py"] else result

    journey.ports = journey.with_ports(sandbox=Mended(answers))
    await journey.begin(JobInput(TASK))
    told = only(journey.told("repaired"))
    assert told["diff"]["text"] == (
        "--- a/sums.py\n+++ b/sums.py\n@@ -1,3 +1,3 @@\n a = 1\n-b = 2\n+add = 2\n "
    )
    assert (told["lines"], told["fixed"]) == ({"added": 1, "removed": 1}, True)


async def test_after_two_failed_repairs_the_next_model_takes_over_and_hears_what_was_tried(
    tmp_path: Path,
) -> None:
    journey = escalating(
        Journey.plan(tmp_path, TWO_REPAIRS_FAIL, PlannedSandbox(ANSWERS)),
        tmp_path,
        runs(
            "- r3 was to mend r2 (TypeError: no (the program, line 1: x)). It failed in another",
            "total = good",
            3,
        ),
        turn("executor", "exit code 0", "Mended.", after=4),
    )
    await journey.begin(JobInput(TASK))
    assert (await journey.outcome()).approved
    repairs = journey.told("repaired")
    assert [(each["model"], each["level"], each["attempt"]) for each in repairs] == [
        ("recording:side", 0, 1), ("recording:side", 0, 2), ("recording:big", 1, 3),
    ]  # fmt: skip
    asked = [told["model"] for told in journey.told("model_called") if told["role"] == "executor"]
    assert asked == ["recording:side"] * 3 + ["recording:big"] * 2
    state = (await journey.graph.aget_state(journey.config)).values
    assert state["level"] == 1
    assert [each["fixed"] for each in state["repairs"]] == [False, False, True]
    assert "diff" not in state["repairs"][0]  # it is on the event


async def test_a_repair_that_changes_nothing_escalates_at_once(tmp_path: Path) -> None:
    turns = [
        PLAN,
        runs(TASK, "total = one", 0),
        runs("hint (key)", "total = one", 1),
        verdict("=== r3", "approve"),
    ]
    journey = escalating(
        Journey.plan(tmp_path, turns, PlannedSandbox(ANSWERS)),
        tmp_path,
        runs("Nothing was changed since r1 failed", "total = good", 2),
        turn("executor", "exit code 0", "Mended.", after=3),
    )
    await journey.begin(JobInput(TASK))
    assert [each["same"] for each in journey.told("repaired")] == ["code", None]
    assert (await journey.outcome()).approved


async def test_a_repair_that_leaves_the_failure_escalates_at_once(tmp_path: Path) -> None:
    turns = [
        PLAN,
        runs(TASK, "total = one", 0),
        runs("hint (key)", "total = again", 1),
        verdict("=== r3", "approve"),
    ]
    journey = escalating(
        Journey.plan(tmp_path, turns, PlannedSandbox(ANSWERS)),
        tmp_path,
        runs("The failure is the same as that of r1", "total = good", 2),
        turn("executor", "exit code 0", "Mended.", after=3),
    )
    await journey.begin(JobInput(TASK))
    assert [each["same"] for each in journey.told("repaired")] == ["failure", None]


async def test_a_model_without_another_behind_it_is_stopped_where_it_goes_in_circles(
    tmp_path: Path,
) -> None:
    turns = [
        PLAN,
        *(runs(TASK if n == 0 else "hint (key)", "total = one", n) for n in range(3)),
        turn("executor", "Look at the key.", call("python", code="total = good"), after=4),
        turn("executor", "exit code 0", "Mended.", after=5),
        verdict("(revision 1)", "revise", "Look at the key."),
        verdict("(revision 2)", "approve"),
    ]
    journey = Journey.plan(tmp_path, turns, PlannedSandbox(ANSWERS))
    await journey.begin(JobInput(TASK))
    first, second = journey.told("answered")
    assert first["text"].startswith("The work ended here, because the repairs leave the failure")
    assert second["text"] == "Mended."
    assert (await journey.outcome()).approved


async def test_a_repair_may_come_in_the_next_revision(tmp_path: Path) -> None:
    turns = [
        PLAN,
        runs(TASK, "total = one", 0),
        turn("executor", "hint (key)", "I do not know.", after=1),
        verdict("(revision 1)", "revise", "Mend it."),
        runs("Mend it.", "total = good", 2),
        turn("executor", "exit code 0", "Mended.", after=3),
        verdict("(revision 2)", "approve"),
    ]
    journey = Journey.plan(tmp_path, turns, PlannedSandbox(ANSWERS))
    await journey.begin(JobInput(TASK))
    told = only(journey.told("repaired"))
    assert (told["run"], told["of"], told["revision"], told["attempt"]) == ("r2", "r1", 2, 1)


@pytest.mark.parametrize("cut", range(1, 9))
async def test_a_crash_anywhere_changes_no_decision(tmp_path: Path, cut: int) -> None:
    """The attempt dies at its `cut`-th write; the next one makes the same repairs at the same
    levels, and tells of each once."""
    journey = escalating(
        Journey.plan(tmp_path, TWO_REPAIRS_FAIL, PlannedSandbox(dict(ANSWERS))),
        tmp_path,
        runs("You take over here", "total = good", 3),
        turn("executor", "exit code 0", "Mended.", after=4),
    )
    journey.graph, journey.thread = build(InMemorySaver()), secrets.token_hex(8)

    class Dies(type(journey.ports.journal)):  # type: ignore[misc]
        left = cut

        async def record(self, key: str, finished: Any) -> None:
            await super().record(key, finished)
            Dies.left -= 1
            if not Dies.left:
                raise Crash

    whole = journey.ports
    journey.ports = replace(whole, journal=Dies(journey.record))
    with pytest.raises(Crash):
        await journey.begin(JobInput(TASK))
    journey.ports = replace(whole, workspace=MemoryWorkspace(journey.record), turn=Turn())
    await journey.go_on()
    assert [(each["run"], each["level"]) for each in journey.told("repaired")] == [
        ("r2", 0), ("r3", 0), ("r4", 1),
    ]  # fmt: skip
    assert [each["id"] for each in journey.told("run_finished")] == ["r1", "r2", "r3", "r4"]
    assert len(journey.record.charges) == len(journey.told("model_called")) == 7


async def test_the_bound_on_steps_holds_over_repairs(tmp_path: Path) -> None:
    turns = [
        PLAN,
        runs(TASK, "total = one", 0),
        runs("hint (key)", "total = two", 1),
        verdict("(revision 1)", "revise", "No."),
    ]
    bounds = Bounds(steps=2)
    journey = Journey.plan(tmp_path, turns, PlannedSandbox(ANSWERS), bounds=bounds)
    await journey.begin(JobInput(TASK, max_revisions=1))
    assert "bound of 2 model calls" in only(journey.told("answered"))["text"]
    ended = await journey.outcome()
    assert (ended.approved, ended.exhausted) == (False, True)


async def test_the_critic_is_asked_at_the_level_that_the_job_has_come_to(tmp_path: Path) -> None:
    journey = escalating(
        Journey.plan(tmp_path, TWO_REPAIRS_FAIL[:-1], PlannedSandbox(ANSWERS)),
        tmp_path,
        runs("You take over here", "total = good", 3),
        turn("executor", "exit code 0", "Mended.", after=4),
        verdict("=== r4", "approve"),
        roles=("executor", "critic"),
    )
    await journey.begin(JobInput(TASK))
    assert (await journey.outcome()).approved
    asked = {told["model"] for told in journey.told("model_called") if told["role"] == "critic"}
    assert asked == {"recording:big"}


async def test_a_look_between_takes_nothing_from_what_was_tried(tmp_path: Path) -> None:
    """Look and repair in turn: the same program over and over is still the same program."""
    look = call("shell", command="cat sums.py")
    turns = [
        PLAN,
        runs(TASK, "total = one", 0),
        turn("executor", "hint (key)", look, after=1),
        runs("exit code 0", "total = one", 2),
        verdict("=== r4", "approve"),
    ]
    journey = escalating(
        Journey.plan(tmp_path, turns, PlannedSandbox({**ANSWERS, "cat sums.py": printed("x\n")})),
        tmp_path,
        runs("Nothing was changed since r1 failed", "total = good", 3),
        turn("executor", "exit code 0", "Mended.", after=4),
    )
    await journey.begin(JobInput(TASK))
    told = [(each["run"], each["of"], each["same"]) for each in journey.told("repaired")]
    assert told == [("r3", "r1", "code"), ("r4", "r3", None)]
    assert journey.told("repaired")[-1]["level"] == 1

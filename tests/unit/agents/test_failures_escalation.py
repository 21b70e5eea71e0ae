"""Which model continues after failed runs, and when a pass ends: pure decisions."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, AnyMessage, ToolMessage

from agents.failures.failure import FailureClass
from agents.history import Trace
from agents.repair.escalation import (
    LAST_PATIENCE,
    PATIENCE,
    Round,
    escalation,
    rounds,
)
from agents.runs.program import VERIFY
from agents.state import Run


def red(
    cause: str = "KeyError: 'a'",
    tool: str = "python",
    *,
    changed: bool = True,
    kind: FailureClass = FailureClass.KEY,
    code: str = "check",
) -> Round:
    """A failed run, by default after a change of files."""
    failure = {"class": kind.value, "cause": cause, "exception": None}
    return Round(_run(tool, code, failure), changed)


def green(tool: str = "python") -> Round:
    return Round(_run(tool, "check", None), changed=True)


def _run(tool: str, code: str, failure: dict[str, Any] | None) -> dict[str, Any]:
    return {"tool": tool, "code": {"text": code}, "succeeded": not failure, "failure": failure}


def reds(*causes: str) -> list[Round]:
    return [red(cause) for cause in causes]


def explored(*causes: str) -> list[Round]:
    """Failed runs without a change of files."""
    return [red(cause, changed=False) for cause in causes]


def verified(*commands: str) -> list[Round]:
    """Failed verifications by these commands without a change of files."""
    return [red("no", VERIFY, changed=False, code=command) for command in commands]


def grepped(*patterns: str) -> list[Round]:
    """Searches without a match, each after a change of files."""
    quiet = "exit code 1 without any output"
    return [red(quiet, "shell", kind=FailureClass.UNKNOWN, code=f"grep {p} .") for p in patterns]


@pytest.mark.parametrize(
    ("runs", "level"),
    [
        ([], 0),
        (reds("a"), 0),
        (reds("a", "b"), 0),
        (reds("a", "b", "c"), 1),  # two repairs have failed
        (reds("a", "a"), 1),  # the repair did not touch the cause
        (reds("a", "b", "a"), 1),
        ([red("a"), green(), red("b"), green(), red("c")], 0),
        ([red("a"), green(), red("a")], 1),  # a probe does not count as a repair
        ([red("a", "verify"), green("verify"), red("a", "verify")], 0),  # this failure was repaired
        ([*reds("a", "a"), red("a")], 1),  # each model has its own tries
        ([*reds("a", "a"), *reds("a", "a")], 2),
        ([*reds("a", "a"), green("verify"), green("verify")], 1),  # the level stays the same
        (explored("a", "b", "c", "d", "e", "f", "g", "h"), 0),  # no failure was repaired
        (explored("a", "a", "a", "a"), 0),
        ([*explored("a"), *reds("a")], 1),  # a repair of a reproduced failure does not change it
        ([*explored("a", "b", "c"), *reds("d", "e")], 0),
        (verified("a", "b", "c", "d"), 0),  # each failure has another cause
        (verified("a", "a"), 1),
        (grepped("a", "b"), 0),  # the cause is unknown, so these failures are not the same
    ],
)
def test_the_next_model_continues_when_repairs_fail(runs: list[Round], level: int) -> None:
    assert escalation(runs, 0, 3).level == level
    assert escalation(runs, 0, 3).stopped is None
    assert escalation(runs, 2, 3).level == 2


@pytest.mark.parametrize(
    ("runs", "reason"),
    [
        (reds("a", "a", "a"), None),
        (reds("a", "a", "a", "a"), "the repairs do not change the failure: a"),
        (reds("a", "b", "a", "c", "a", "a"), "the repairs do not change the failure: a"),
        ([*reds("a", "a", "a", "a"), green()], None),  # the later run got further
        (reds(*"abcdef"), None),
        (reds(*"abcdefg"), "6 repairs in a row have failed"),
        ([*reds(*"abcdef"), green(), red("g")], None),
        (explored(*"aaaaaaaa"), None),
        (explored(*"abcdefgh"), None),
        (verified(*"abcdefgh"), None),
        (verified(*"aaa"), None),
        (verified(*"aaaa"), "the repairs do not change the failure: no"),
        ([*explored("a"), *reds("a", "a", "a")], "the repairs do not change the failure: a"),
        ([*reds("a", "a", "a"), *explored("a", "b")], None),
        (grepped(*"abcdef"), None),
        (grepped(*"aaaa"), "the repairs do not change the failure: exit code 1 without any output"),
    ],
)
def test_the_last_model_ends_the_pass_without_progress(
    runs: list[Round], reason: str | None
) -> None:
    decision = escalation(runs, 0, 1)
    assert (decision.level, decision.stopped) == (0, reason)


_RUNS = st.lists(
    st.tuples(st.booleans(), st.sampled_from("abc"), st.sampled_from(["python", "verify"])),
    max_size=40,
)


@given(_RUNS, st.integers(1, 4))
def test_a_pass_ends_or_moves_up_one_model_at_a_time(
    outcomes: list[tuple[bool, str, str]], levels: int
) -> None:
    runs: list[Round] = []
    level = streak = 0
    for well, cause, tool in outcomes:
        runs.append(green(tool) if well else red(cause, tool))
        now = escalation(runs, 0, levels)
        assert now.level in (level, level + 1)
        assert now.level < levels
        streak = 0 if well or now.level > level else streak + 1
        level = now.level
        if now.stopped:
            assert level == levels - 1
            return
        assert streak <= (PATIENCE if level < levels - 1 else LAST_PATIENCE)


def calls(*traces: Trace) -> list[AnyMessage]:
    """A reply with the answers to its calls."""
    answers = [ToolMessage("", tool_call_id=str(n), artifact=item) for n, item in enumerate(traces)]
    return [AIMessage(""), *answers]


def ran(run: str, *left: str) -> Trace:
    """The trace of a run that left these files."""
    data: Run = {"id": run, "tool": "shell", "succeeded": False}
    return Trace(kind="run_finished", data=data, files=[{"name": name} for name in left])


def used(tool: str, *made: str) -> Trace:
    return Trace(kind="tool_used", data={"tool": tool}, files=[{"name": name} for name in made])


def test_a_round_has_the_last_run_of_a_reply_and_the_changes_since_the_previous_round() -> None:
    messages = [
        *calls(used("search"), ran("r1")),
        *calls(used("edit_file", "a.txt")),
        *calls(used("read_file")),
        *calls(ran("r2"), ran("r3")),
        *calls(ran("r4")),
        *calls(ran("r5"), used("write_file", "b.py"), ran("r6")),
        *calls(ran("r7", "made.py")),
        *calls(ran("r8", ".coverage", "table.csv")),
        *calls(used("write_file", "c.py")),
    ]
    changed = {item.run["id"]: item.changed for item in rounds(messages)}
    assert changed == {
        "r1": False, "r3": True, "r4": False, "r6": True, "r7": True, "r8": False,
    }  # fmt: skip

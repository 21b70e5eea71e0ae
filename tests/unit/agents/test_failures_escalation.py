"""Which model goes on after failed runs, and when a pass ends: pure decisions."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.failures.escalation import (
    LAST_PATIENCE,
    PATIENCE,
    escalation,
)

Run = dict[str, Any]


def red(cause: str = "KeyError: 'a'", tool: str = "python", number: int = 1) -> Run:
    failure = {"class": "key", "cause": cause, "exception": "KeyError"}
    return {"id": f"r{number}", "tool": tool, "succeeded": False, "failure": failure}


def green(tool: str = "python", number: int = 1) -> Run:
    return {"id": f"r{number}", "tool": tool, "succeeded": True, "failure": None}


def reds(*causes: str) -> list[Run]:
    return [red(cause, number=number) for number, cause in enumerate(causes, start=1)]


@pytest.mark.parametrize(
    ("runs", "level"),
    [
        ([], 0),
        (reds("a"), 0),
        (reds("a", "b"), 0),
        (reds("a", "b", "c"), 1),  # two repairs have failed
        (reds("a", "a"), 1),  # the repair has not touched the cause
        (reds("a", "b", "a"), 1),
        ([red("a"), green(), red("b"), green(), red("c")], 0),
        ([red("a"), green(), red("a")], 1),  # a probe in between says nothing of the failure
        ([red("a", "verify"), green("verify"), red("a", "verify")], 0),  # that one was repaired
        ([*reds("a", "a"), red("a")], 1),  # each model has its own tries
        ([*reds("a", "a"), *reds("a", "a")], 2),
        ([*reds("a", "a"), green("verify"), green("verify")], 1),  # the level stays
    ],
)
def test_the_next_model_takes_over_when_repairs_fail(runs: list[Run], level: int) -> None:
    assert escalation(runs, 0, 3).level == level
    assert escalation(runs, 0, 3).stopped is None
    assert escalation(runs, 2, 3).level == 2


@pytest.mark.parametrize(
    ("runs", "why"),
    [
        (reds("a", "a", "a"), None),
        (reds("a", "a", "a", "a"), "the repairs do not change the failure: a"),
        (reds("a", "b", "a", "c", "a", "a"), "the repairs do not change the failure: a"),
        ([*reds("a", "a", "a", "a"), green()], None),  # it has got further
        (reds(*"abcdef"), None),
        (reds(*"abcdefg"), "6 repairs in a row have failed"),
        ([*reds(*"abcdef"), green(), red("g")], None),
    ],
)
def test_the_last_model_ends_the_pass_where_it_gets_no_further(
    runs: list[Run], why: str | None
) -> None:
    found = escalation(runs, 0, 1)
    assert (found.level, found.stopped) == (0, why)


_RUNS = st.lists(
    st.tuples(st.booleans(), st.sampled_from("abc"), st.sampled_from(["python", "verify"])),
    max_size=40,
)


@given(_RUNS, st.integers(1, 4))
def test_a_pass_ends_and_climbs_one_step_at_a_time(
    outcomes: list[tuple[bool, str, str]], levels: int
) -> None:
    runs: list[Run] = []
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

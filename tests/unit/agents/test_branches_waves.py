"""Which steps are taken side by side."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.parallel.waves import waves


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        ([[], [], [1, 2]], ((1, 2),)),
        ([[], [1], [1], [2, 3]], ((1,), (2, 3))),
        ([[], [], [], [], []], ((1, 2, 3), (4, 5))),
        ([[], [], [1], [2]], ((1, 2), (3, 4))),
        ([[3], [3], []], ((3,), (1, 2))),
        ([[], [], None], ((1, 2),)),
    ],
)
def test_steps_that_need_nothing_of_each_other_go_side_by_side(
    after: Sequence[Sequence[int] | None], expected: tuple[tuple[int, ...], ...]
) -> None:
    planned_waves = waves(after, 3)
    assert (planned_waves.waves, planned_waves.reason) == (expected, "")


@pytest.mark.parametrize(
    ("after", "width", "reason"),
    [
        ([[], [1], [2]], 3, "no two of its steps are independent"),
        ([], 3, "no two of its steps are independent"),
        ([[], [7], []], 3, "step 2 waits for step 7, which does not exist"),
        ([[], [3], [2]], 3, "steps wait for each other in a circle: 2, 3"),
        ([[], [], []], 1, "this installation runs one step at a time"),
    ],
)
def test_what_cannot_be_taken_side_by_side_is_taken_in_order_and_said(
    after: Sequence[Sequence[int] | None], width: int, reason: str
) -> None:
    planned_waves = waves(after, width)
    assert (planned_waves.waves, planned_waves.reason) == ((), reason)


NEEDS = st.lists(st.none() | st.lists(st.integers(0, 7), max_size=3), max_size=7)


@given(NEEDS, st.integers(1, 4))
def test_no_step_comes_before_what_it_waits_for(after: list[list[int] | None], width: int) -> None:
    done: set[int] = set()
    planned_waves = waves(after, width)
    for wave in planned_waves.waves:
        assert len(wave) <= width
        for step in wave:
            needs = after[step - 1]
            assert set(range(1, step) if needs is None else needs) <= done
        assert done.isdisjoint(wave)
        done |= set(wave)
    assert bool(planned_waves.waves) != bool(planned_waves.reason)

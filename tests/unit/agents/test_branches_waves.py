"""Which steps run in parallel."""

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
def test_independent_steps_run_in_parallel(
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
def test_a_plan_that_cannot_run_in_parallel_runs_in_order_with_a_reason(
    after: Sequence[Sequence[int] | None], width: int, reason: str
) -> None:
    planned_waves = waves(after, width)
    assert (planned_waves.waves, planned_waves.reason) == ((), reason)


NEEDS = st.lists(st.none() | st.lists(st.integers(0, 7), max_size=3), max_size=7)


@given(NEEDS, st.integers(1, 4))
def test_no_step_starts_before_the_steps_that_it_waits_for(
    after: list[list[int] | None], width: int
) -> None:
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

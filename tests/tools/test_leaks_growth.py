"""Which changes count as growth, and which as noise."""

from __future__ import annotations

import pytest

from lab.drills.leaks import growth
from lab.drills.leaks.growth import MIB, CountRow, Memory
from lab.drills.leaks.mix import KINDS, kinds


@pytest.mark.parametrize(
    ("before", "after", "closed", "grown"),
    [(9, 9, 0, False), (9, 8, 0, False), (9, 10, 0, True), (9, 9, 1, True)],
)
def test_one_more_object_is_growth_and_so_is_an_object_after_the_close(
    before, after, closed, grown
):
    assert CountRow("processes", before, after, closed, first=0).grown is grown


def test_rows_combine_the_counts_of_each_object():
    counts = {"mounts": 20, "files": 0}
    (mounts, files) = growth.rows(counts, counts, {**counts, "files": 3}, counts)
    assert (mounts.grown, files.grown) == (False, True)
    assert files == CountRow("files", 0, 3, 0, 0)


def test_memory_that_settles_after_a_start_has_not_grown():
    line = [10 * MIB, 20 * MIB, 30 * MIB] + [40 * MIB, 40 * MIB + 4096] * 20
    assert not Memory("worker", line).grown


def test_memory_that_creeps_has_grown():
    creeping = Memory("worker", [40 * MIB + number * MIB // 8 for number in range(48)])
    assert creeping.growth == pytest.approx(47 / 8 * MIB)
    assert creeping.grown


def test_a_sawtooth_is_not_a_slope():
    saw = Memory("supervisor", [(40 + number % 4) * MIB for number in range(48)])
    assert abs(saw.growth) < MIB


@pytest.mark.parametrize(("line", "slope"), [([], 0), ([5], 0), ([5, 5, 5], 0), ([1, 3, 5], 2)])
def test_a_slope_is_the_change_from_one_value_to_the_next(line, slope):
    assert growth.slope(line) == slope


def test_the_mix_is_the_same_each_time_and_has_every_kind():
    names = [kind.name for kind in kinds(1000)]
    assert names == [kind.name for kind in kinds(1000)]
    assert set(names) == {kind.name for kind in KINDS}
    assert sum(kind.weight for kind in KINDS) == 100

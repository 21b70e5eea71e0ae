import random
import statistics
from fractions import Fraction

import pytest
from solution import Running


def of(numbers):
    running = Running()
    for number in numbers:
        running.add(number)
    return running


def exact(numbers):
    return float(statistics.variance([Fraction(n) for n in numbers]))


def test_few():
    assert (of([]).count, of([]).mean, of([]).variance) == (0, 0.0, 0.0)
    assert (of([5.0]).mean, of([5.0]).variance) == (5.0, 0.0)
    assert of([1.0, 2.0, 4.0]).variance == pytest.approx(7 / 3)


@pytest.mark.parametrize("offset", [0.0, 1e9, -1e12, 1.7e15])
def test_large_beside_their_differences(offset):
    drawn = random.Random(1)
    numbers = [offset + drawn.randrange(-100, 100) for _ in range(2_000)]
    running = of(numbers)
    assert running.variance == pytest.approx(exact(numbers), rel=1e-9)
    assert running.mean == pytest.approx(statistics.fmean(numbers), rel=1e-12)


@pytest.mark.parametrize("cut", [0, 1, 500, 999, 1000])
def test_merging(cut):
    drawn = random.Random(2)
    numbers = [1e12 + drawn.randrange(1000) for _ in range(1000)]
    left, right = of(numbers[:cut]), of(numbers[cut:])
    before = (left.count, left.mean, left.variance)
    merged = left.merge(right)
    assert merged.count == 1000
    assert merged.variance == pytest.approx(exact(numbers), rel=1e-9)
    assert (left.count, left.mean, left.variance) == before
    merged.add(1.0)
    assert right.count == 1000 - cut


def test_a_constant_amount_of_memory():
    running = of(float(n) for n in range(10_000))
    held = vars(running) if hasattr(running, "__dict__") else {}
    assert all(not isinstance(value, (list, tuple, dict, set)) for value in held.values())

from decimal import Decimal
from fractions import Fraction

import pytest
from solution import allocate


@pytest.mark.parametrize(
    ("cents", "weights", "expected"),
    [
        (100, [1, 1, 1], [34, 33, 33]),
        (5, [1, 1, 1, 1], [2, 1, 1, 1]),
        (10, [1, 2, 3.0], [2, 3, 5]),
        (1, [1, 1], [1, 0]),
        (0, [3, 4], [0, 0]),
        (7, [0, 1], [0, 7]),
        (-100, [1, 1, 1], [-34, -33, -33]),
        (101, [Decimal("0.5"), Fraction(1, 4), 0.25], [51, 25, 25]),
        (3, [5, 3, 2], [1, 1, 1]),
    ],
)
def test_parts(cents, weights, expected):
    assert allocate(cents, weights) == expected


def test_a_tenth_is_a_tenth():
    # as binary fractions three of 0.1 are more than 0.3: the cents would go elsewhere
    assert allocate(3, [0.3, 0.1, 0.1, 0.1]) == [2, 1, 0, 0]
    assert allocate(3, [0.1, 0.1, 0.1, 0.3]) == [1, 1, 0, 1]


def test_large_amounts_are_exact():
    cents = 10**20 + 1
    assert allocate(cents, [1, 1, 1]) == [
        33333333333333333334,
        33333333333333333334,
        33333333333333333333,
    ]
    assert sum(allocate(cents, [0.7, 0.2, 0.1])) == cents


@pytest.mark.parametrize("weights", [[], [0, 0], [1, -1], [2, -1]])
def test_senseless_weights(weights):
    with pytest.raises(ValueError):
        allocate(1, weights)


def test_the_weights_stay():
    weights = [3, 1, 2]
    allocate(7, weights)
    assert weights == [3, 1, 2]

import math

import pytest
from solution import roots


def test_usual_ones():
    assert roots(1, -3, 2) == pytest.approx((1.0, 2.0))
    assert roots(-1, 3, -2) == pytest.approx((1.0, 2.0))
    assert roots(1, 2, 1) == (-1.0,)
    assert roots(1, 0, 1) == ()


@pytest.mark.parametrize(
    ("a", "b", "c", "expected"), [(0, 2, -4, (2.0,)), (0, 0, 5, ()), (0.0, -1, 0, (0.0,))]
)
def test_straight_lines(a, b, c, expected):
    assert roots(a, b, c) == expected


def test_everything_solves_it():
    with pytest.raises(ValueError):
        roots(0, 0, 0)


@pytest.mark.parametrize("sign", [1, -1])
def test_one_is_tiny_beside_the_other(sign):
    low, high = roots(1, sign * 1e8, 1)
    small, large = (high, low) if sign > 0 else (low, high)
    assert small == pytest.approx(-sign * 1.0000000000000001e-8, rel=1e-12)
    assert large == pytest.approx(-sign * 99999999.99999999, rel=1e-12)


def test_squares_that_fit_into_no_float():
    low, high = roots(1e200, 3e200, 2e200)
    assert (low, high) == pytest.approx((-2.0, -1.0), rel=1e-12)
    low, high = roots(1e-200, 3e-200, 2e-200)
    assert (low, high) == pytest.approx((-2.0, -1.0), rel=1e-12)


def test_zero_has_no_sign():
    for found in (roots(1, -2, 0), roots(1, 2, 0), roots(-1, 0, 0), roots(0, 5, 0)):
        zero = next(root for root in found if root == 0)
        assert math.copysign(1, zero) == 1

"""Rates and tests of a difference, compared with published figures and with enumeration."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import comb

import pytest

from lab.evals.report.statistics import mcnemar, pass_at, rate, wilson


@pytest.mark.parametrize(
    ("successes", "of", "low", "high"),
    [
        # Newcombe, Statistics in Medicine 17 (1998), table I, method 3
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_gives_the_published_intervals(successes, of, low, high):
    rate = wilson(successes, of)
    assert rate.share == successes / of
    assert (rate.low, rate.high) == (pytest.approx(low, abs=5e-5), pytest.approx(high, abs=5e-5))


@pytest.mark.parametrize("tried", [1, 2, 5, 8])
def test_pass_at_k_is_the_share_of_draws_in_which_one_passes(tried):
    for passed in range(tried + 1):
        outcomes = [True] * passed + [False] * (tried - passed)
        for k in range(1, tried + 1):
            draws = list(combinations(outcomes, k))
            share = Fraction(sum(any(draw) for draw in draws), len(draws))
            assert pass_at(k, tried, passed) == pytest.approx(float(share))


def test_mcnemar_is_the_two_sided_sign_test():
    assert mcnemar(0, 0) == mcnemar(3, 3) == 1.0
    assert mcnemar(0, 5) == mcnemar(5, 0) == pytest.approx(2 / 2**5)
    assert mcnemar(2, 9) == pytest.approx(2 * sum(comb(11, n) for n in range(3)) / 2**11)
    assert mcnemar(0, 3_000) < 1e-300


def test_several_tries_are_drawn_by_exercise():
    once = rate([(1, 1)] * 30 + [(0, 1)] * 10)
    assert (once.low, once.high) == (wilson(30, 40).low, wilson(30, 40).high)
    # ten tries of the same exercise give no more information about other exercises than one try
    often = rate([(10, 10)] * 30 + [(0, 10)] * 10)
    assert often.share == 0.75
    assert often.high - often.low > 0.2
    assert often == rate([(10, 10)] * 30 + [(0, 10)] * 10)

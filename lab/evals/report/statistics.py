"""Rates, intervals, and tests of a difference. Pure.

Wilson: E. B. Wilson, JASA 22 (1927). pass@k: M. Chen et al., "Evaluating Large Language Models
Trained on Code" (2021), section 2.1. McNemar's exact test: the sign test on the pairs that differ.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from math import comb, prod, sqrt
from statistics import NormalDist, fmean

CONFIDENCE = 0.95
RESAMPLES = 5_000
SEED = 20_261_122
"""The bootstrap's seed: the same results always give the same interval."""


@dataclass(frozen=True, slots=True)
class Rate:
    """A share from 0 to 1, with the ends of its interval."""

    share: float
    low: float
    high: float


def wilson(successes: int, of: int, confidence: float = CONFIDENCE) -> Rate:
    """The share of successes with Wilson's interval; 0 to 1 without tries."""
    if of == 0:
        return Rate(0.0, 0.0, 1.0)
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    share = successes / of
    middle = (share + z * z / (2 * of)) / (1 + z * z / of)
    half = z * sqrt(share * (1 - share) / of + z * z / (4 * of * of)) / (1 + z * z / of)
    low = 0.0 if successes == 0 else max(0.0, middle - half)
    high = 1.0 if successes == of else min(1.0, middle + half)
    return Rate(share, low, high)


def rate(tries: Sequence[tuple[int, int]]) -> Rate:
    """pass@1 over exercises of (passed, tried), with Wilson's interval if each exercise was tried
    once.

    Tries of one exercise are not independent: if there are several, the bootstrap resamples
    exercises.
    """
    if all(tried == 1 for _, tried in tries):
        return wilson(sum(passed for passed, _ in tries), len(tries))
    shares = [passed / tried for passed, tried in tries]
    low, high = resampled(shares)
    return Rate(fmean(shares), low, high)


def resampled(values: Sequence[float], confidence: float = CONFIDENCE) -> tuple[float, float]:
    """The percentile bootstrap's interval of the mean."""
    drawn = random.Random(SEED)  # noqa: S311 - statistics, no secret
    means = sorted(fmean(drawn.choices(values, k=len(values))) for _ in range(RESAMPLES))
    cut = int(RESAMPLES * (1 - confidence) / 2)
    return means[cut], means[RESAMPLES - 1 - cut]


def pass_at(k: int, tried: int, passed: int) -> float:
    """Chen's unbiased estimate that one of `k` tries passes, from `tried` >= k tries."""
    if tried - passed < k:
        return 1.0
    return 1.0 - prod(1.0 - k / n for n in range(tried - passed + 1, tried + 1))


def mcnemar(only_first: int, only_second: int) -> float:
    """The exact two-sided p: `only_first` pairs differ in one direction and `only_second` in the
    other.
    """
    differing = only_first + only_second
    if differing == 0:
        return 1.0
    tail = sum(comb(differing, n) for n in range(min(only_first, only_second) + 1))
    return min(1.0, tail / (1 << (differing - 1)))

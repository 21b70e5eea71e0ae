"""Paths on which a model or the sandbox is unavailable, refuses, or sends an unreadable answer."""

from __future__ import annotations

from lab.benchmarks.repair.path import (
    CHECK,
    DONE,
    DOWN,
    GOOD,
    KEY,
    NO_KEY,
    PLAN,
    REFUSED,
    RETRIES,
    RIGHT,
    WRONG,
    Path,
    approve,
    costly,
    runs,
    verifies,
    writes,
)

FOR_GOOD = (DOWN,) * (RETRIES + 1)
"""A model that fails in every try."""
TROUBLE = (
    Path(
        "trouble of the sandbox is retried and not blamed on the code",
        (PLAN, verifies(KEY), verifies(GOOD), DONE, approve()),
        "approved by critic",
        (0,),
        broken=frozenset({1, 2, 4}),
    ),
    Path(
        "trouble of the sandbox says nothing of a verification",
        (PLAN, writes(RIGHT), verifies(CHECK), DONE, approve()),
        "approved by critic",
        broken=frozenset({2, 3}),  # the run fails without its file
    ),
    Path(
        "a sandbox that is down for good",
        (PLAN, runs(GOOD)),
        "failed: sandbox_unavailable",
        broken=frozenset(range(1, 20)),
    ),
    Path(
        "an outage of the model is waited for",
        (PLAN, verifies(KEY), DOWN, DOWN, verifies(GOOD), DONE, DOWN, approve()),
        "approved by critic",
        (0,),
    ),
    Path(
        "a model that is down for good is no success",
        (PLAN, runs(KEY), *FOR_GOOD),
        "failed: model_unavailable",
    ),
    Path(
        "a critic that is down for good approves nothing",
        (PLAN, runs(GOOD), DONE, *FOR_GOOD),
        "unapproved: the critic's model could not be reached",
    ),
    Path(
        "a critic without a valid key approves nothing, and fails the job",
        (PLAN, runs(GOOD), DONE, NO_KEY),
        "failed: model_unavailable",
    ),
    Path(
        "a critic that refuses the request approves nothing, and is not asked again",
        (PLAN, runs(GOOD), DONE, REFUSED),
        "unapproved: the critic's model refuses the request",
    ),
    Path(
        "out of budget, in the middle of a pass",
        (PLAN, writes(WRONG), verifies(CHECK), costly(writes(RIGHT))),
        "failed: budget_exhausted",
        most_tokens=100_000,
    ),
)

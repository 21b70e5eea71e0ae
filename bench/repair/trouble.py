"""Paths on which a model or the sandbox is away, refuses, or cannot be read."""

from __future__ import annotations

from bench.repair.path import DOWN, PLAN, REFUSED, Path, approve, costly, runs, writes
from bench.repair.said import CHECK, DONE, GOOD, KEY, RIGHT, WRONG
from jobs.lifecycle import RETRIES

FOR_GOOD = (DOWN,) * (RETRIES + 1)
"""A model that is down in every try."""
TROUBLE = (
    Path(
        "trouble of the sandbox is retried and not blamed on the code",
        (PLAN, runs(KEY), runs(GOOD), DONE, approve()),
        "approved by critic",
        ("0 fixed",),
        broken=frozenset({1, 2, 4}),
    ),
    Path(
        "a sandbox that is down for good",
        (PLAN, runs(GOOD)),
        "failed: sandbox_unavailable",
        broken=frozenset(range(1, 20)),
    ),
    Path(
        "an outage of the model is waited for",
        (PLAN, runs(KEY), DOWN, DOWN, runs(GOOD), DONE, DOWN, approve()),
        "approved by critic",
        ("0 fixed",),
    ),
    Path(
        "a model that is down for good is no success",
        (PLAN, runs(KEY), *FOR_GOOD),
        "failed: model_unavailable",
    ),
    Path(
        "a critic that is down for good leaves it to the rules",
        (PLAN, runs(GOOD), DONE, *FOR_GOOD),
        "approved by rules",
    ),
    Path(
        "a critic that is down for good approves nothing that failed",
        (PLAN, runs(KEY), DONE, *FOR_GOOD, DOWN),
        "failed: model_unavailable",
    ),
    Path(
        "a critic that refuses to be asked leaves it to the rules at once",
        (PLAN, runs(KEY), runs(GOOD), DONE, REFUSED),
        "approved by rules",
        ("0 fixed",),
    ),
    Path(
        "a critic that refuses to be asked approves nothing that failed",
        (PLAN, runs(KEY), DONE, REFUSED),
        "unapproved: the revisions ran out",
        job={"max_revisions": 1},
    ),
    Path(
        "out of budget, with the last repair run",
        (PLAN, writes(WRONG), runs(CHECK), costly(writes(RIGHT))),
        "failed: budget_exhausted",
        ("0 fixed",),
        most_tokens=100_000,
    ),
)

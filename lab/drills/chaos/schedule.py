"""Schedule: the times of all jobs and faults. The same seed gives the same schedule. Pure.

Times are in seconds from the start. A fault's target is chosen with `pick` when the fault happens,
among the targets that exist then.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

JOBS_PER_SECOND = 3.8


class Kind(StrEnum):
    """The kinds of faults."""

    CHILD_KILL = "child-kill"
    WORKER_KILL = "worker-kill"
    DRAIN = "worker-drain"
    FREEZE = "worker-freeze"
    SUPERVISOR_KILL = "supervisor-kill"
    API_KILL = "api-kill"
    API_STOP = "api-stop"
    REDIS_KILL = "redis-kill"
    REDIS_FREEZE = "redis-freeze"
    HINTS_LOST = "hints-lost"
    NET_SLOW = "net-slow"
    NET_RESET = "net-reset"
    NET_SILENT = "net-silent"


@dataclass(frozen=True, slots=True)
class Rhythm:
    """One fault in each interval, with a duration between two limits (from, to)."""

    kind: Kind
    interval: float
    lasts: tuple[float, float] = (0.0, 0.0)


RHYTHMS = (
    Rhythm(Kind.CHILD_KILL, 2.7),
    Rhythm(Kind.WORKER_KILL, 35),
    Rhythm(Kind.DRAIN, 23),
    Rhythm(Kind.FREEZE, 41, (3.0, 5.0)),
    Rhythm(Kind.SUPERVISOR_KILL, 17),
    Rhythm(Kind.API_KILL, 43),
    Rhythm(Kind.API_STOP, 67),
    Rhythm(Kind.REDIS_KILL, 61),
    Rhythm(Kind.REDIS_FREEZE, 71, (0.5, 3.0)),
    Rhythm(Kind.HINTS_LOST, 13),
    Rhythm(Kind.NET_SLOW, 47, (1.0, 3.0)),
    Rhythm(Kind.NET_RESET, 37),
    Rhythm(Kind.NET_SILENT, 59, (1.0, 4.0)),
)


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault at the time `at` that lasts `seconds`; `pick` (0 to 1) chooses among the targets."""

    at: float
    kind: Kind
    pick: float
    seconds: float


@dataclass(frozen=True, slots=True)
class JobPlan:
    """A job and the actions of its client."""

    number: int
    at: float
    recording: str
    review: bool = False
    steps: bool = False
    answers: tuple[str, ...] = ()
    """The decisions on its reviews in order. After the last one, the job is left waiting."""
    copies: int = 1
    """The number of times that each decision is sent at once."""
    stale: bool = False
    think: float = 0.0
    cancel_after: float | None = None
    """Seconds from the submission to the cancel."""
    follows: bool = False
    """Whether the job continues the conversation of the previous job."""
    resubmits: int = 0
    """The number of times that the same request is sent again."""
    other_body: bool = False
    """Whether another body is sent with the same key."""
    drops: tuple[int, ...] = ()
    """The events after which the reader disconnects."""
    retry: bool = False
    """Whether the client retries the job. Only a job that failed or was cancelled has a retry."""
    repo: bool = False
    """Whether the job works on a repository, and so belongs to no conversation."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """The jobs and faults of a run, in order of time."""

    jobs: tuple[JobPlan, ...]
    faults: tuple[Fault, ...]


def schedule(seed: int, minutes: float) -> Schedule:
    """The schedule of a seed: jobs at an even rate, each kind of fault at its own rhythm."""
    seconds = minutes * 60
    jobs = tuple(_jobs(random.Random(f"{seed} jobs"), seconds))  # noqa: S311 - it must come again
    faults: list[Fault] = []
    for rhythm in RHYTHMS:
        dice = random.Random(f"{seed} {rhythm.kind}")  # noqa: S311
        faults += _faults(dice, rhythm, seconds)
    return Schedule(jobs, tuple(sorted(faults, key=lambda fault: (fault.at, fault.kind))))


def _faults(dice: random.Random, rhythm: Rhythm, seconds: float) -> Iterator[Fault]:
    """The faults of a kind: at least one, even in a short run."""
    at = dice.uniform(0, min(rhythm.interval, seconds))
    while at < seconds:
        yield Fault(at, rhythm.kind, dice.random(), dice.uniform(*rhythm.lasts))
        at += rhythm.interval * dice.uniform(0.8, 1.2)


def _jobs(dice: random.Random, seconds: float) -> Iterator[JobPlan]:
    for number in range(max(int(seconds * JOBS_PER_SECOND), 1)):
        at = (number + dice.random()) / JOBS_PER_SECOND
        yield _plan(dice, number, at)


def _plan(dice: random.Random, number: int, at: float) -> JobPlan:
    review = dice.random() < 0.3
    recording = dice.choice(("chaos-run", "chaos-run", "chaos-files", "chaos-revise"))
    repo = recording == "chaos-files" and dice.random() < 0.7
    return JobPlan(
        number=number,
        at=at,
        recording=recording,
        review=review,
        steps=dice.random() < 0.5,
        answers=_answers(dice) if review else (),
        copies=dice.choice((1, 1, 2, 5)),
        stale=dice.random() < 0.2,
        think=dice.uniform(0, 1.5),
        cancel_after=dice.uniform(0, 2.5) if dice.random() < 0.12 else None,
        follows=dice.random() < 0.15 and not repo,
        resubmits=1 if dice.random() < 0.1 else 0,
        other_body=dice.random() < 0.05,
        drops=tuple(n for n in range(1, 12) if dice.random() < 0.06),
        retry=dice.random() < 0.3,
        repo=repo,
    )


def _answers(dice: random.Random) -> tuple[str, ...]:
    """The decisions in order; one job in thirty has none and waits forever."""
    if dice.random() < 1 / 30:
        return ()
    before = ("revise",) if dice.random() < 0.25 else ("edit",) if dice.random() < 0.2 else ()
    return (*before, dice.choice(("approve", "approve", "approve", "delegate", "reject")))

"""A supervisor that is short of descriptors goes on with what it has."""

from __future__ import annotations

import os
import resource
import selectors
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sandbox import policy
from sandbox.local.generation import Generation
from sandbox.local.plan import Plan
from sandbox.local.succession import Succession

TEXTS = 20
FIRST = 2 + 4 + TEXTS + 3  # its socket, its pipes, its files, and what a start takes
PLAN = Plan(
    policy.Ground(bwrap="/bin/true", python="/usr/bin/python3", trees=()),
    {f"/room/{number}": b"" for number in range(TEXTS)},
)


@contextmanager
def free_descriptors(count: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    null = os.open("/dev/null", os.O_RDONLY)
    taken = [null, *(os.dup(null) for _ in range(count - 1))]
    for each in taken:
        os.close(each)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(taken) + 1, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def _ignore(*_: object) -> None:
    """Nobody listens."""


def test_a_room_is_made_where_the_next_generation_is_not_to_be_had() -> None:
    with selectors.PollSelector() as selector:
        told: list[object] = []
        line = Succession(
            PLAN,
            1,  # room, and it is old
            selector,
            lambda *made: told.append(made),
            told.append,
            lambda *failed: told.append(failed),
        )
        with free_descriptors(FIRST + 2):
            room = line.make(1 << 20, None)
            line.load(policy.Stock.STANDARD)
        assert room.generation.made == 1
        assert told == []
        room.control.close()
        line.end()


def test_a_room_that_is_not_to_be_had_is_told_and_leaves_no_descriptor() -> None:
    with selectors.PollSelector() as selector:
        line = Succession(PLAN, 2, selector, _ignore, _ignore, _ignore)
        line.make(1 << 20, None).control.close()  # of a generation that is there
        before = set(Path("/proc/self/fd").iterdir())
        with free_descriptors(1), pytest.raises(OSError, match="Too many open files"):
            line.make(1 << 20, None)
        assert set(Path("/proc/self/fd").iterdir()) == before
        line.end()


def test_one_that_cannot_be_started_leaves_no_descriptor() -> None:
    before = set(Path("/proc/self/fd").iterdir())
    for count in (1, 4, FIRST - 8, FIRST - 2):
        with free_descriptors(count), pytest.raises(OSError, match="Too many open files"):
            Generation(PLAN, policy.Stock.NOTHING)
        assert set(Path("/proc/self/fd").iterdir()) == before

"""Values of one argument, tried one after the other: those that the policy does not name.

Each call is one that can do nothing: its descriptor is -1, or all that it points to is nowhere. A
filter answers before the kernel looks at that; a kernel that looks says what it finds.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from drills.attacks.attack import Attack, Bare
from drills.attacks.steps.raw import apart, call

NOWHERE = -1


@dataclass(frozen=True, slots=True)
class Numbers:
    """A system call's, on x86-64 and on 64-bit ARM."""

    x86: int
    arm: int


def tried(given: dict[str, Any]) -> str | None:
    """The probe: each of `given["words"]` is a call's; those that the kernel looked at are told."""
    import errno
    import os

    number = given["number"][os.uname().machine]
    refused = {-getattr(errno, name) for name in given["refused"]}
    passed = []
    for words in given["words"]:
        alone = given["apart"]
        answer = apart(lambda: call(number, *words)) if alone else call(number, *words)  # noqa: B023
        if answer not in refused:
            shown = " ".join(hex(each) for each in words[given["shown"][0] : given["shown"][1]])
            passed.append(f"{shown} ({'killed' if answer is None else answer})")
    return f"{len(passed)} values, the first of them {', '.join(passed[:8])}" if passed else None


def enumerated(
    numbers: Numbers,
    words: Iterable[tuple[int, ...]],
    *,
    shown: slice,
    refused: tuple[str, ...],
    on_its_own: bool = False,
) -> Attack:
    """An attack that makes all of these calls. `shown`: which of their words name the value.
    `refused`: the errors that a filter, or a kernel that does not know the value, answers with.
    `on_its_own`: each in a process of its own, which it may change.
    """
    return Attack(
        tried,
        expects="a value that the policy does not name never gets to the kernel",
        uses=(call, apart),
        given={
            "number": {"x86_64": numbers.x86, "aarch64": numbers.arm},
            "words": [list(each) for each in words],
            "shown": [shown.start, shown.stop],
            "refused": list(refused),
            "apart": on_its_own,
        },
        control=Bare(),
    )


def beside(values: Iterable[int], distance: int) -> list[int]:
    """The numbers around each of these values, without them."""
    known = set(values)
    around = {each + step for each in known for step in range(-distance, distance + 1)}
    return sorted(each & 0xFFFF_FFFF for each in around - known)

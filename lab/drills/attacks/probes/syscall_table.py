"""Attacks that are a table of system calls, with arguments that have no effect, even with all
rights.

A filter answers such a call before the kernel checks its arguments. A kernel that checks them finds
them wrong, and reports another error than "not permitted" or "no such call". So the error shows
whether the call reaches the kernel, without the call's effect, which could harm the machine. Only
if a kernel checks rights before arguments does the control have to be root.
"""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from lab.drills.attacks.attack import Attack, BaselineControl, Inputs, Probe
from lab.drills.attacks.context import Context
from lab.drills.attacks.outcome import Observation
from lab.drills.attacks.probes.primitives import apart, call
from lab.drills.attacks.probes.program import program

NOWHERE = -1
Words = tuple["int | str | list[int]", ...]


def comes_through(inputs: Inputs) -> str | None:
    """Calls each of `inputs["calls"]`. `every`: all that this kernel has must come through, else
    the probe is broken. `any`: refused ones count too."""
    passed, refused = [], []
    for name, words in inputs["calls"].items():
        answer = apart(call, name, *words)
        if answer == -errno.ENOSYS:
            continue
        if answer is None or answer == -errno.EPERM:
            refused.append(name)
        else:
            passed.append(f"{name} ({errno.errorcode.get(-answer, 'done')})")
    if inputs.get("every") and refused:
        raise PermissionError(f"refused here: {', '.join(refused)}; open: {', '.join(passed)}")
    if inputs.get("any"):
        return ", ".join(refused + passed) or None
    return f"the kernel looked at: {', '.join(passed)}" if passed else None


def refused_calls(tries: str, control: BaselineControl, calls: Mapping[str, Words]) -> Attack:
    """An attack that makes these calls, by name. If the drill is root, the control must reach the
    kernel with each of these calls, otherwise with any of them.
    """
    names = f"this kernel has no {', '.join(calls)}"
    return Attack(
        comes_through,
        control=control,
        inputs={"calls": calls},
        drive=_drive_each,
        absent=partial(unless_reached, names, comes_through, calls=calls, any=True),
        tries=tries,
    )


async def _drive_each(context: Context) -> Observation:
    return await context.run(inputs={"every": context.is_control and os.geteuid() == 0})


def unless_reached(reason: str, probe: Probe, **inputs: Any) -> str | None:
    """`reason` if the probe reaches no call on this machine, in an ordinary process with the
    drill's own rights: for features that a kernel may lack. Use it only for probes without an
    effect.
    """
    command = [sys.executable, "-c", program(probe, {**inputs, "mark": "tried"})]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    line = next(
        output_line
        for output_line in answer.stdout.splitlines()
        if output_line.startswith("tried ")
    )
    reached = json.loads(line.removeprefix("tried ")).get("reached")
    return reason if reached is None else None


def values(inputs: Inputs) -> str | None:
    """Makes a call with all `inputs["words"]`; reports the values that the kernel checked."""
    refused = {-getattr(errno, name) for name in inputs["refused"]}
    first, last = inputs["shown"]
    make = apart if inputs["apart"] else lambda act, *words: act(*words)
    passed = []
    for words in inputs["words"]:
        answer = make(call, inputs["name"], *words)
        if answer not in refused:
            words_text = " ".join(hex(word) for word in words[first:last])
            passed.append(f"{words_text} ({'killed' if answer is None else answer})")
    return f"{len(passed)} values, the first of them {', '.join(passed[:8])}" if passed else None


def unnamed_values(
    tries: str,
    name: str,
    words: Iterable[tuple[int, ...]],
    *,
    visible_words: slice,
    refused: tuple[str, ...],
    on_its_own: bool = False,
) -> Attack:
    """An attack that makes one call with many values of an argument: those that the policy does not
    name. Each call can do nothing: its descriptor is -1, or all that it points to is nowhere.

    `visible_words`: which words of a call name the value in a report. `refused`: the errors that a
    filter, or a kernel that does not know the value, answers with. `on_its_own`: each in a process
    of its own, which it may change.
    """
    return Attack(
        values,
        inputs={
            "name": name,
            "words": [list(call_words) for call_words in words],
            "shown": [visible_words.start, visible_words.stop],
            "refused": list(refused),
            "apart": on_its_own,
        },
        tries=tries,
    )


def numbers_around(numbers: Iterable[int], distance: int) -> set[int]:
    """The numbers around each of these values, without the values themselves."""
    numbers = set(numbers)
    near = {number + step for number in numbers for step in range(-distance, distance + 1)}
    return {number & 0xFFFF_FFFF for number in near - numbers}


def needs_root(inner: Attack) -> Attack:
    """The same attack for a call that only the machine's own root may make: no other user could
    show its control.
    """

    def absent() -> str | None:
        if os.geteuid() != 0:
            return "only root could do it, and the drill cannot show as another that it would see"
        return inner.absent()

    return replace(inner, absent=absent)

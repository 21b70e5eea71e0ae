"""The system calls of the attacks: their numbers, and that no sandbox's filter allows them."""

from __future__ import annotations

import pytest

from lab.drills.attacks import suite
from lab.drills.attacks.probes.syscalls import SYSCALLS
from sandbox.seccomp import syscalls

REFUSED = {
    call
    for name, attack in suite.attacks(["kernel/*"]).items()
    for call in attack.inputs.get("calls", ())
}
"""The system calls of the attacks that try a table of calls."""


def test_the_suite_has_calls_that_must_be_refused() -> None:
    assert len(REFUSED) > 50


@pytest.mark.parametrize("machine", syscalls.MACHINES)
def test_every_filter_refuses_these_calls(machine: str) -> None:
    filtered_calls = {**syscalls.allowed(machine), **syscalls.conditional(machine)}
    column = syscalls.MACHINES.index(machine)
    numbers = {SYSCALLS[name][column] for name in REFUSED}
    assert not numbers & set(filtered_calls.values())
    assert not REFUSED & set(filtered_calls)


@pytest.mark.parametrize("machine", syscalls.MACHINES)
def test_each_call_has_a_different_number(machine: str) -> None:
    column = syscalls.MACHINES.index(machine)
    numbers = [row[column] for row in SYSCALLS.values() if row[column] is not None]
    assert len(set(numbers)) == len(numbers)


@pytest.mark.parametrize("machine", syscalls.MACHINES)
def test_calls_that_a_filter_also_names_have_the_same_number(machine: str) -> None:
    filtered_calls = {**syscalls.allowed(machine), **syscalls.conditional(machine)}
    column = syscalls.MACHINES.index(machine)
    assert {name: SYSCALLS[name][column] for name in SYSCALLS if name in filtered_calls} == {
        name: filtered_calls[name] for name in SYSCALLS if name in filtered_calls
    }

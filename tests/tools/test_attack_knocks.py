"""The calls that the attacks knock at are none that a room's filter lets through."""

from __future__ import annotations

import pytest

from drills.attacks import suite
from sandbox import syscalls

KNOCKS = {
    f"{name}:{knock[0]}": knock
    for name, attack in suite.attacks().items()
    for knock in attack.given.get("knocks", ())
}


def test_there_are_knocks() -> None:
    assert len(KNOCKS) > 50


@pytest.mark.parametrize("machine", syscalls.MACHINES)
def test_no_knock_is_at_an_open_door(machine: str) -> None:
    known = {**syscalls.allowed(machine), **syscalls.conditional(machine)}
    column = 1 + syscalls.MACHINES.index(machine)
    doors = {name: knock[column] for name, knock in KNOCKS.items() if knock[column] is not None}
    opened = {name for name, number in doors.items() if number in known.values()}
    assert not opened
    assert not {name for name in KNOCKS if name.partition(":")[2] in known}


@pytest.mark.parametrize("machine", syscalls.MACHINES)
def test_no_two_calls_have_one_number(machine: str) -> None:
    column = 1 + syscalls.MACHINES.index(machine)
    numbers = {knock[0]: knock[column] for knock in KNOCKS.values() if knock[column] is not None}
    assert len(set(numbers.values())) == len(numbers)

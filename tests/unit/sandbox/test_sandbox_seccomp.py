"""The filter's program is run here by a small machine, as the kernel would run it."""

from __future__ import annotations

import errno
import struct

import pytest

from sandbox import syscalls
from sandbox.seccomp import program

ALLOW, KILL = 0x7FFF0000, 0x80000000
ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
I386 = 0x40000003
CLONE_THREAD_FLAGS = 0x3D0F00
READ = {"x86_64": 0, "aarch64": 63}

both = pytest.mark.parametrize("machine", ["x86_64", "aarch64"])


def verdict(machine: str, number: int, *arguments: int, arch: int | None = None) -> int:
    padded = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("<IIQ6Q", number, arch or ARCH[machine], 0, *padded)
    lines = list(struct.iter_unpack("<HBBI", program(machine)))
    at = value = 0
    while True:
        code, yes, no, operand = lines[at]
        at += 1
        if code == 0x20:
            (value,) = struct.unpack_from("<I", data, operand)
        elif code == 0x06:
            return operand
        else:
            holds = {0x15: value == operand, 0x35: value >= operand, 0x45: bool(value & operand)}
            at += yes if holds[code] else no


def refused(number: int) -> int:
    return 0x00050000 | number


@both
def test_ordinary_calls_pass(machine: str) -> None:
    assert verdict(machine, READ[machine]) == ALLOW
    known = {*syscalls.forbidden(machine).values(), *syscalls.absent(machine).values(),
             *syscalls.judged(machine).values()}  # fmt: skip
    assert all(verdict(machine, nr) == ALLOW for nr in range(400) if nr not in known)


@both
def test_every_forbidden_call_is_refused(machine: str) -> None:
    for name, number in syscalls.forbidden(machine).items():
        assert verdict(machine, number) == refused(errno.EPERM), name
    for name, number in syscalls.absent(machine).items():
        assert verdict(machine, number) == refused(errno.ENOSYS), name


@both
def test_what_is_newer_than_this_table_does_not_exist(machine: str) -> None:
    assert verdict(machine, syscalls.NEWEST + 1) == refused(errno.ENOSYS)
    assert verdict(machine, syscalls.NEWEST) == ALLOW


@both
def test_another_architecture_kills(machine: str) -> None:
    other = ARCH["aarch64" if machine == "x86_64" else "x86_64"]
    for arch in (other, I386):
        assert verdict(machine, READ[machine], arch=arch) == KILL


def test_x32_numbers_kill() -> None:
    assert verdict("x86_64", 0x40000000) == KILL
    assert verdict("x86_64", 0x40000000 | 101) == KILL


@both
def test_clone_makes_threads_and_processes_but_no_namespaces(machine: str) -> None:
    clone = syscalls.judged(machine)["clone"]
    assert verdict(machine, clone, CLONE_THREAD_FLAGS) == ALLOW
    assert verdict(machine, clone, 17) == ALLOW
    for bit in (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000):
        assert verdict(machine, clone, 17 | bit) == refused(errno.EPERM), hex(bit)


@both
@pytest.mark.parametrize("call", ["socket", "socketpair"])
def test_sockets_are_local_internet_or_route(machine: str, call: str) -> None:
    number = syscalls.judged(machine)[call]
    for family in (1, 2, 10):
        assert verdict(machine, number, family, 1, 6) == ALLOW
    assert verdict(machine, number, 16, 3, 0) == ALLOW
    assert verdict(machine, number, 16, 3, 12) == refused(errno.EAFNOSUPPORT)  # netfilter
    for family in (0, 4, 17, 31, 38, 40, 44):
        assert verdict(machine, number, family, 1, 0) == refused(errno.EAFNOSUPPORT), family


@both
def test_nothing_types_into_a_terminal(machine: str) -> None:
    ioctl = syscalls.judged(machine)["ioctl"]
    assert verdict(machine, ioctl, 1, 0x5401) == ALLOW
    for request in (0x5412, 0x541C, 0x1_0000_5412):
        assert verdict(machine, ioctl, 1, request) == refused(errno.EPERM)


@both
def test_tables_do_not_overlap(machine: str) -> None:
    tables = [syscalls.forbidden(machine), syscalls.absent(machine), syscalls.judged(machine)]
    numbers = [number for table in tables for number in table.values()]
    assert len(numbers) == len(set(numbers))
    assert max(numbers) <= syscalls.NEWEST


def test_other_machines_have_no_filter() -> None:
    with pytest.raises(ValueError, match="riscv64"):
        program("riscv64")

"""The filter's program, run by a small BPF interpreter as the kernel would run it."""

from __future__ import annotations

import errno
import functools
import socket
import struct

import pytest

from sandbox.seccomp import syscalls
from sandbox.seccomp.allowed_arguments import (
    FCNTL,
    IOCTL,
    PRCTL,
    SETSOCKOPT,
    AllowedValues,
    sorted_values,
)
from sandbox.seccomp.conditions import CONDITIONS
from sandbox.seccomp.filters import bpf_filter

ALLOW, KILL = 0x7FFF0000, 0x80000000
ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
I386 = 0x40000003
CLONE_THREAD_FLAGS = 0x3D0F00
CLONE_SPAWN_FLAGS = 0x4100  # a vfork: parent and child share memory until the program starts
READ = {"x86_64": 0, "aarch64": 63}


on_both_machines = pytest.mark.parametrize("machine", syscalls.MACHINES)


@functools.cache
def assembled(machine: str) -> list[tuple[int, ...]]:
    return list(struct.iter_unpack("<HBBI", bpf_filter(machine)))


def verdict(machine: str, number: int, *arguments: int, arch: int | None = None) -> int:
    padded = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("<IIQ6Q", number, arch or ARCH[machine], 0, *padded)
    lines = assembled(machine)
    position = value = 0
    while True:
        code, if_true, if_false, operand = lines[position]
        position += 1
        if code == 0x20:
            (value,) = struct.unpack_from("<I", data, operand)
        elif code == 0x54:
            value &= operand
        elif code == 0x05:
            position += operand
        elif code == 0x06:
            return int(operand)
        else:
            holds = {0x15: value == operand, 0x35: value >= operand}[code]
            position += if_true if holds else if_false


def conditional_verdict(machine: str, name: str, *arguments: int) -> int:
    return verdict(machine, syscalls.conditional(machine)[name], *arguments)


def error(number: int) -> int:
    return 0x00050000 | number


@on_both_machines
def test_every_number_has_the_verdict_of_its_list(machine: str) -> None:
    allowed = set(syscalls.allowed(machine).values())
    absent = set(syscalls.absent(machine).values())
    conditional = set(syscalls.conditional(machine).values())
    assert READ[machine] in allowed
    assert allowed.isdisjoint(absent | conditional)
    assert absent.isdisjoint(conditional)
    for number in range(syscalls.NEWEST + 1):
        if number in allowed:
            expected = ALLOW
        elif number in absent:
            expected = error(errno.ENOSYS)
        elif number in conditional:
            continue
        else:
            expected = error(errno.EPERM)
        assert verdict(machine, number) == expected, number


@on_both_machines
def test_newer_calls_do_not_exist(machine: str) -> None:
    for number in (syscalls.NEWEST + 1, 500, 0x3FFF_FFFF):
        assert verdict(machine, number) == error(errno.ENOSYS)


@on_both_machines
def test_another_architecture_kills(machine: str) -> None:
    other_architecture = ARCH["aarch64" if machine == "x86_64" else "x86_64"]
    for arch in (other_architecture, I386):
        assert verdict(machine, READ[machine], arch=arch) == KILL


def test_x32_numbers_kill() -> None:
    for number in (0x40000000, 0x40000000 | 101, 0xFFFF_FFFF):
        assert verdict("x86_64", number) == KILL


@on_both_machines
def test_every_conditional_call_has_its_condition(machine: str) -> None:
    assert syscalls.conditional(machine).keys() <= CONDITIONS.keys()


@on_both_machines
def test_clone_makes_threads_and_processes_but_no_namespaces(machine: str) -> None:
    assert conditional_verdict(machine, "clone", CLONE_THREAD_FLAGS) == ALLOW
    assert conditional_verdict(machine, "clone", 17) == ALLOW
    assert conditional_verdict(machine, "clone", 17 | CLONE_SPAWN_FLAGS) == ALLOW
    for bit in (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000):
        for flags in (17, CLONE_THREAD_FLAGS):
            assert conditional_verdict(machine, "clone", flags | bit) == error(errno.EPERM), hex(
                bit
            )


@on_both_machines
def test_sockets_are_unix_or_tcp_or_udp_or_read_routes(machine: str) -> None:
    unix, inet, inet6, netlink = 1, 2, 10, 16
    cloexec = socket.SOCK_STREAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK
    allowed = [(unix, kind, 0) for kind in (1, 2, 5)] + [(netlink, 3, 0)]
    for family in (inet, inet6):
        allowed += [(family, 1, 0), (family, cloexec, 6), (family, 2, 0), (family, 2, 17)]
    assert {
        conditional_verdict(machine, "socket", *call_arguments) for call_arguments in allowed
    } == {ALLOW}
    raw = [(inet, 3, 1), (inet, 3, 255), (inet6, 3, 58), (inet, 10, 0), (inet, 2, 1)]
    protocols = [(inet, 1, 132), (inet, 1, 262), (inet, 5, 132), (inet, 1, 17), (netlink, 3, 12)]
    families = [(family, 1, 0) for family in (0, 4, 17, 29, 31, 38, 40, 44)]
    for kind in (*raw, *protocols, *families):
        assert conditional_verdict(machine, "socket", *kind) == error(errno.EAFNOSUPPORT), kind
    assert conditional_verdict(machine, "socketpair", unix, 1, 0) == ALLOW
    assert conditional_verdict(machine, "socketpair", 30, 1, 0) == error(errno.EAFNOSUPPORT)


@on_both_machines
def test_larger_buffers_return_success_without_effect(machine: str) -> None:
    for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
        assert conditional_verdict(machine, "setsockopt", 3, socket.SOL_SOCKET, option) == error(0)
        assert conditional_verdict(machine, "setsockopt", 3, socket.IPPROTO_UDP, option) != error(0)


@on_both_machines
def test_socket_options_pass_by_level_and_option(machine: str) -> None:
    known_options = {
        (socket.SOL_SOCKET, socket.SO_REUSEADDR),
        (socket.IPPROTO_TCP, socket.TCP_NODELAY),
        (socket.IPPROTO_IPV6, socket.IPV6_V6ONLY),
    }
    assert {
        conditional_verdict(machine, "setsockopt", 3, *call_arguments)
        for call_arguments in known_options
    } == {ALLOW}
    upper_protocol, attach_filter, mark = 31, 26, 36
    for level, option in (
        (socket.IPPROTO_TCP, upper_protocol),
        (socket.SOL_SOCKET, attach_filter),
        (socket.SOL_SOCKET, mark),
        (socket.SOL_SOCKET, 26),  # IPV6_V6ONLY, which belongs to another level
        (270, 1),  # netlink
    ):
        assert conditional_verdict(machine, "setsockopt", 3, level, option) == error(
            errno.ENOPROTOOPT
        )


TABLES = {
    "fcntl": (FCNTL, 1, errno.EINVAL),
    "ioctl": (IOCTL, 1, errno.ENOTTY),
    "prctl": (PRCTL, 0, errno.EINVAL),
}


@on_both_machines
@pytest.mark.parametrize("call", TABLES)
def test_only_named_values_are_allowed(machine: str, call: str) -> None:
    table, index, error_number = TABLES[call]
    allowed = set(sorted_values(table))
    near = {value + step for value in allowed for step in range(-40, 41) if value + step >= 0}
    for value in near | {value | 1 << 31 for value in allowed} | allowed:
        expected = ALLOW if value in allowed else error(error_number)
        assert conditional_verdict(machine, call, *[3] * index, value) == expected, hex(value)


@pytest.mark.parametrize("table", [FCNTL, IOCTL, PRCTL, SETSOCKOPT])
def test_every_value_has_a_unique_name_and_a_reason(table: tuple[AllowedValues, ...]) -> None:
    assert all(row.reason for row in table)
    names = [name for row in table for name in row.values]
    values = [(row.level, value) for row in table for value in row.values.values()]
    assert len(set(names)) == len(names)
    assert len(set(values)) == len(values)


@on_both_machines
def test_no_memory_comes_from_a_machines_pool_of_huge_pages(machine: str) -> None:
    private, shared, anonymous, huge = 2, 1, 0x20, 0x4_0000
    for flags in (private | anonymous, shared | anonymous, private, 0x0022 | 0x2_0000):
        assert conditional_verdict(machine, "mmap", 0, 1 << 21, 3, flags) == ALLOW
        assert conditional_verdict(machine, "mmap", 0, 1 << 21, 3, flags | huge) == error(
            errno.ENOMEM
        )
        assert conditional_verdict(machine, "mmap", 0, 1 << 21, 3, flags | huge | 21 << 26) != ALLOW


@on_both_machines
def test_a_process_sets_only_its_own_limits(machine: str) -> None:
    fsize, pointer = 1, 0x7FFF_0000_0000  # the low half of the pointer is null
    assert conditional_verdict(machine, "prlimit64", 0, fsize, pointer) == ALLOW
    assert conditional_verdict(machine, "prlimit64", 1, fsize, 0, pointer) == ALLOW
    for new in (pointer, 0x1000):
        assert conditional_verdict(machine, "prlimit64", 1, fsize, new) == error(errno.EPERM)


@on_both_machines
def test_no_program_changes_the_scheduling_of_the_agent(machine: str) -> None:
    agent, code_pids, truncated = 1, (0, 2, 3, 4_194_303), 0x1_0000_0001
    for name in ("sched_setaffinity", "sched_setattr", "sched_setparam", "sched_setscheduler"):
        assert {conditional_verdict(machine, name, pid) for pid in code_pids} == {ALLOW}, name
        for pid in (agent, truncated):
            assert conditional_verdict(machine, name, pid) == error(errno.EPERM), name
    for name, process, groups in (("setpriority", 0, (1, 2)), ("ioprio_set", 1, (2, 3))):
        verdicts = {conditional_verdict(machine, name, process, pid) for pid in code_pids}
        assert verdicts == {ALLOW}, name
        for pid in (agent, truncated):
            assert conditional_verdict(machine, name, process, pid) == error(errno.EPERM), name
        for kind in groups:  # a process group, a user
            assert conditional_verdict(machine, name, kind, 0) == error(errno.EPERM), name

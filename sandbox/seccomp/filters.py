"""Assembles the system call filter in its two forms: classic BPF, and a container engine's JSON.
Pure.

Both forms have the same tables (`syscalls.py`, `conditions.py`). A call with a number of another
architecture or of x32 kills the process. The BPF form is a binary search for the number: some seven
comparisons for each call, and none if the kernel remembers that a call always passes.

The engine's form has calls by name, because an engine may run on another architecture than its
worker. It differs in one way: a call that a condition refuses returns EPERM, like a call on no
list, because the engine's form has only one default error. A copy for reviewers is
deploy/seccomp-sandbox.json.
"""

from __future__ import annotations

import errno
import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sandbox.seccomp import syscalls
from sandbox.seccomp.conditions import CONDITIONS, ArgumentTest, Condition

# linux/bpf_common.h, linux/seccomp.h, linux/audit.h
_LOAD, _AND, _JUMP, _JUMP_EQUAL, _JUMP_AT_LEAST, _RETURN = 0x20, 0x54, 0x05, 0x15, 0x35, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_NUMBER_OFFSET, _ARCH_OFFSET, _ARGUMENTS_OFFSET = 0, 4, 16
_X32 = 0x40000000
_LOW_HALF = 0xFFFF_FFFF
_MAX_JUMP = 255

_ENGINE_ARCHITECTURES = ("SCMP_ARCH_X86_64", "SCMP_ARCH_AARCH64")


@dataclass(frozen=True, slots=True)
class _Instruction:
    """One instruction; `if_true` and `if_false` are the numbers of instructions to skip."""

    code: int
    value: int
    if_true: int = 0
    if_false: int = 0


_Program = tuple[_Instruction, ...]


def bpf_filter(machine: str) -> bytes:
    """The filter for `machine` (`uname -m`): an array of `struct sock_filter`, little-endian.

    Raises ValueError for an architecture without a table of numbers.
    """
    if machine not in _ARCH:
        raise ValueError(f"no system call filter for {machine}: have {', '.join(_ARCH)}")
    program = (
        _Instruction(_LOAD, _ARCH_OFFSET),
        _Instruction(_JUMP_EQUAL, _ARCH[machine], if_true=1),
        _return(_KILL),
        _Instruction(_LOAD, _NUMBER_OFFSET),
        *_search(_ranges(machine)),
    )
    return b"".join(
        struct.pack("<HBBI", line.code, line.if_true, line.if_false, line.value) for line in program
    )


def engine_profile() -> dict[str, Any]:
    """The engine's form. It lists no other architecture, so calls of a 32-bit or x32 program kill
    the program.
    """
    allowed = {name for machine in syscalls.MACHINES for name in syscalls.allowed(machine)}
    absent = {name for machine in syscalls.MACHINES for name in syscalls.absent(machine)}
    return {
        "defaultAction": "SCMP_ACT_ERRNO",
        "defaultErrnoRet": errno.EPERM,
        "archMap": [
            {"architecture": name, "subArchitectures": []} for name in _ENGINE_ARCHITECTURES
        ],
        "syscalls": [
            {"names": sorted(allowed), "action": "SCMP_ACT_ALLOW"},
            {"names": sorted(absent), "action": "SCMP_ACT_ERRNO", "errnoRet": errno.ENOSYS},
            *_conditional_rules(),
        ],
    }


def engine_profile_text() -> str:
    """The engine's form as the text of a security option."""
    return json.dumps(engine_profile(), separators=(",", ":"))


def _ranges(machine: str) -> list[tuple[int, _Program]]:
    """Ranges of numbers with one program: the first number and the program, ascending from 0."""
    refuse, unknown = (_return_error(errno.EPERM),), (_return_error(errno.ENOSYS),)
    programs: dict[int, _Program] = dict.fromkeys(
        syscalls.allowed(machine).values(), (_return(_ALLOW),)
    )
    programs |= dict.fromkeys(syscalls.absent(machine).values(), unknown)
    for name, number in syscalls.conditional(machine).items():
        programs[number] = _check_condition(CONDITIONS[name])
    ranges: list[tuple[int, _Program]] = [(0, programs.get(0, refuse))]
    for number in range(1, syscalls.NEWEST + 1):
        program = programs.get(number, refuse)
        if program != ranges[-1][1]:
            ranges.append((number, program))
    ranges.append((syscalls.NEWEST + 1, unknown))
    if machine == "x86_64":
        ranges.append((_X32, (_return(_KILL),)))
    return ranges


def _search(ranges: list[tuple[int, _Program]]) -> _Program:
    """Find the range of the loaded number, and continue with its program."""
    if len(ranges) == 1:
        return ranges[0][1]
    middle = len(ranges) // 2
    below, above = _search(ranges[:middle]), _search(ranges[middle:])
    first_number = ranges[middle][0]
    if len(below) <= _MAX_JUMP:
        return (_Instruction(_JUMP_AT_LEAST, first_number, if_true=len(below)), *below, *above)
    long_jump = _Instruction(_JUMP, len(below))
    return (_Instruction(_JUMP_AT_LEAST, first_number, if_false=1), long_jump, *below, *above)


def _check_condition(condition: Condition) -> _Program:
    program: _Program = (_return_error(condition.error),)
    if condition.ignored:
        program = (*_check_tests(condition.ignored, _return_error(0)), *program)
    for alternative in reversed(condition.alternatives):
        program = (*_check_tests(alternative, _return(_ALLOW)), *program)
    return program


def _check_tests(tests: tuple[ArgumentTest, ...], result: _Instruction) -> _Program:
    """Return `result` if all tests hold; otherwise continue after these instructions."""
    program: _Program = (result,)
    for test in reversed(tests):
        program = (*_check_test(test, len(program)), *program)
    return program


def _check_test(test: ArgumentTest, skip: int) -> _Program:
    """Continue after these instructions if the test holds, else skip `skip` more."""
    offset = _ARGUMENTS_OFFSET + 8 * test.index
    mask = () if test.mask & _LOW_HALF == _LOW_HALF else (_Instruction(_AND, test.mask),)
    if test.unlike:
        equal = _Instruction(_JUMP_EQUAL, test.values[0], if_true=skip)
        return (_Instruction(_LOAD, offset), *mask, equal)
    comparisons = []
    for following, value in enumerate(reversed(test.values)):
        on_mismatch = 0 if following else skip
        comparisons.append(
            _Instruction(_JUMP_EQUAL, value & _LOW_HALF, if_true=following, if_false=on_mismatch)
        )
    low = (_Instruction(_LOAD, offset), *mask, *reversed(comparisons))
    if test.mask <= _LOW_HALF:
        return low
    high_value = test.values[0] >> 32  # the only pointer value in conditions is null
    high = _Instruction(_JUMP_EQUAL, high_value, if_false=len(low) + skip)
    return (_Instruction(_LOAD, offset + 4), high, *low)


def _return(value: int) -> _Instruction:
    return _Instruction(_RETURN, value)


def _return_error(number: int) -> _Instruction:
    return _return(_ERRNO | number)


def _conditional_rules() -> Iterator[dict[str, Any]]:
    names_by_condition: dict[Condition, list[str]] = {}
    for name, condition in CONDITIONS.items():
        names_by_condition.setdefault(condition, []).append(name)
    for condition, names in names_by_condition.items():
        allow = {"names": names, "action": "SCMP_ACT_ALLOW"}
        for tests in condition.alternatives_with_single_values():
            yield {**allow, "args": [_engine_argument(test) for test in tests]}
        if condition.ignored:
            succeed = {"names": names, "action": "SCMP_ACT_ERRNO", "errnoRet": 0}
            ignored = Condition(0, (condition.ignored,))
            for tests in ignored.alternatives_with_single_values():
                yield {**succeed, "args": [_engine_argument(test) for test in tests]}


def _engine_argument(test: ArgumentTest) -> dict[str, Any]:
    """A test with one value. The engine's field `value` is the mask."""
    return {
        "index": test.index,
        "value": test.mask,
        "valueTwo": test.values[0],
        "op": "SCMP_CMP_MASKED_EQ",
    }

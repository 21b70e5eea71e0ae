"""The system call filter of a sandbox, assembled to classic BPF. Pure.

What passes stands in `syscalls.py`, and in `conditions.py` where arguments decide. A call by
another architecture's numbers or by x32's kills the process. The filter is a binary search over
the numbers: some seven comparisons a call, and none where the kernel remembers what always passes.
"""

from __future__ import annotations

import errno
import struct
from dataclasses import dataclass

from sandbox.seccomp import syscalls
from sandbox.seccomp.conditions import CONDITIONS, Condition, Where

# linux/bpf_common.h, linux/seccomp.h, linux/audit.h
_LOAD, _AND, _JUMP, _JUMP_EQUAL, _JUMP_AT_LEAST, _RETURN = 0x20, 0x54, 0x05, 0x15, 0x35, 0x06
_ALLOW, _KILL, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_AT_NUMBER, _AT_ARCH, _AT_ARGUMENTS = 0, 4, 16
_X32 = 0x40000000
_LOW = 0xFFFF_FFFF
_FARTHEST = 255


@dataclass(frozen=True, slots=True)
class _Line:
    """One instruction; `yes` and `no` are how many lines to leap over."""

    code: int
    value: int
    yes: int = 0
    no: int = 0


_Lines = tuple[_Line, ...]


def program(machine: str) -> bytes:
    """The filter for `machine` (`uname -m`): an array of `struct sock_filter`, little-endian.

    Raises ValueError for an architecture whose numbers are not known here.
    """
    if machine not in _ARCH:
        raise ValueError(f"no system call filter for {machine}: have {', '.join(_ARCH)}")
    lines = (
        _Line(_LOAD, _AT_ARCH),
        _Line(_JUMP_EQUAL, _ARCH[machine], yes=1),
        _verdict(_KILL),
        _Line(_LOAD, _AT_NUMBER),
        *_search(_ranges(machine)),
    )
    return b"".join(struct.pack("<HBBI", it.code, it.yes, it.no, it.value) for it in lines)


def _ranges(machine: str) -> list[tuple[int, _Lines]]:
    """Where a range of numbers with one answer begins, and the answer; ascending from 0."""
    refused, unknown = (_refuse(errno.EPERM),), (_refuse(errno.ENOSYS),)
    answers: dict[int, _Lines] = dict.fromkeys(
        syscalls.allowed(machine).values(), (_verdict(_ALLOW),)
    )
    answers |= dict.fromkeys(syscalls.absent(machine).values(), unknown)
    for name, number in syscalls.conditional(machine).items():
        answers[number] = _judge(CONDITIONS[name])
    ranges: list[tuple[int, _Lines]] = [(0, answers.get(0, refused))]
    for number in range(1, syscalls.NEWEST + 1):
        answer = answers.get(number, refused)
        if answer != ranges[-1][1]:
            ranges.append((number, answer))
    ranges.append((syscalls.NEWEST + 1, unknown))
    if machine == "x86_64":
        ranges.append((_X32, (_verdict(_KILL),)))
    return ranges


def _search(ranges: list[tuple[int, _Lines]]) -> _Lines:
    """Find the range that a number, which is loaded, lies in, and answer as it says."""
    if len(ranges) == 1:
        return ranges[0][1]
    middle = len(ranges) // 2
    below, above = _search(ranges[:middle]), _search(ranges[middle:])
    start = ranges[middle][0]
    if len(below) <= _FARTHEST:
        return (_Line(_JUMP_AT_LEAST, start, yes=len(below)), *below, *above)
    leap = _Line(_JUMP, len(below))
    return (_Line(_JUMP_AT_LEAST, start, no=1), leap, *below, *above)


def _judge(condition: Condition) -> _Lines:
    lines: _Lines = (_refuse(condition.error),)
    if condition.ignored:
        lines = (*_all(condition.ignored, _refuse(0)), *lines)
    for alternative in reversed(condition.alternatives):
        lines = (*_all(alternative, _verdict(_ALLOW)), *lines)
    return lines


def _all(places: tuple[Where, ...], answer: _Line) -> _Lines:
    """Answer so where every place holds; otherwise go on after these lines."""
    lines: _Lines = (answer,)
    for where in reversed(places):
        lines = (*_compare(where, len(lines)), *lines)
    return lines


def _compare(where: Where, skip: int) -> _Lines:
    """Go on after these lines where the argument is as it should be, else skip `skip` more."""
    at = _AT_ARGUMENTS + 8 * where.index
    masked = () if where.mask & _LOW == _LOW else (_Line(_AND, where.mask),)
    if where.unlike:
        return (_Line(_LOAD, at), *masked, _Line(_JUMP_EQUAL, where.values[0], yes=skip))
    equal = []
    for left, value in enumerate(reversed(where.values)):
        equal.append(_Line(_JUMP_EQUAL, value & _LOW, yes=left, no=0 if left else skip))
    low = (_Line(_LOAD, at), *masked, *reversed(equal))
    if where.mask <= _LOW:
        return low
    high = where.values[0] >> 32  # of pointers only null is compared
    return (_Line(_LOAD, at + 4), _Line(_JUMP_EQUAL, high, no=len(low) + skip), *low)


def _verdict(value: int) -> _Line:
    return _Line(_RETURN, value)


def _refuse(number: int) -> _Line:
    return _verdict(_ERRNO | number)

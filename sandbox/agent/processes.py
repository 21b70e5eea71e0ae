"""What `/proc` shows of the processes of a sandbox.

Runs inside a sandbox: the standard library alone.
"""

# ruff: noqa: PTH208

from __future__ import annotations

import os

PAGE = os.sysconf("SC_PAGE_SIZE")
_FILE_BYTES = 4096
_THREADS_ASKED = 8
"""Of a process, one after the other, where each has ended before it could be asked."""


def own_memory() -> int:
    """The bytes of this process that a fork of it begins with: those of files are mapped anew."""
    text = read_proc_file("/proc/self/statm")  # man 5 proc: size resident shared
    if text is None:
        return 0
    _, resident_pages, of_files, *_ = map(int, text.split())
    return (resident_pages - of_files) * PAGE


def mapped(pid: int) -> int:
    """The bytes that a process has mapped; 0 where it is gone."""
    return _statm(pid, 0)


def resident(pid: int) -> int:
    """A process's resident bytes; 0 where it is gone."""
    return _statm(pid, 1)


def _statm(pid: int, field: int) -> int:
    text = read_proc_file(f"/proc/{pid}/statm")  # man 5 proc: size resident shared
    return 0 if text is None else int(text.split()[field]) * PAGE


def stat(pid: int) -> list[bytes] | None:
    """The fields of `/proc/PID/stat` from the third, its state; None where it is gone."""
    text = read_proc_file(f"/proc/{pid}/stat")
    return None if text is None else text.rpartition(b")")[2].split()


def read_proc_file(path: str) -> bytes | None:
    """What a short file of `/proc` says; None where its process is gone. Not by `open`, whose
    objects lie on pages that a fresh copy of a process would have to copy.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        return os.read(fd, _FILE_BYTES)
    except ProcessLookupError:
        return None
    finally:
        os.close(fd)


def numbers() -> list[int]:
    """Of every process of the sandbox but the agent."""
    own = os.getpid()
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != own]


def processes() -> list[int]:
    """The same without relays, each by a number for what the process holds (`seen`)."""
    return [number for number, fields in map(seen, numbers()) if not is_relay(fields)]


def seen(pid: int) -> tuple[int, list[bytes] | None]:
    """A process's number and its `stat`; where its first thread has ended, that of another one, for
    `/proc` says of the first then that it has no memory.
    """
    fields = stat(pid)
    for _ in range(_THREADS_ASKED):
        if not is_led_by_the_dead(fields):
            break
        thread = _last_thread(pid)
        others = stat(thread)
        if others is not None and others[0] != b"Z":
            return thread, others
        fields = stat(pid)
    return pid, fields


def is_relay(fields: list[bytes] | None) -> bool:
    """Whether an engine has put a process into the sandbox (`relay.py`): it has no parent here, as
    nobody else has but the agent, or the init above it. What the code leaves behind is init's.
    """
    return fields is not None and fields[1] == b"0"


def is_led_by_the_dead(fields: list[bytes] | None) -> bool:
    """Whether the first thread of a process has ended, and others live."""
    return fields is not None and fields[0] == b"Z" and int(fields[17]) > 1


def _last_thread(pid: int) -> int:
    try:
        return max(map(int, os.listdir(f"/proc/{pid}/task")), default=pid)
    except OSError:
        return pid

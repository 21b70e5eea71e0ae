"""Reads from `/proc` the processes of a sandbox and their resources.

Runs inside a sandbox: imports the standard library only.
"""

# ruff: noqa: PTH208

from __future__ import annotations

import os

PAGE = os.sysconf("SC_PAGE_SIZE")
_FILE_BYTES = 4096
_MAX_THREAD_READS = 8
"""How many threads of a process are read, one after the other, if each ends before it is read."""


def private_memory() -> int:
    """The bytes of this process that its forks share with it. Mapped files are not counted, because
    a fork maps them again.
    """
    text = read_proc_file("/proc/self/statm")  # man 5 proc: size resident shared
    if text is None:
        return 0
    _, resident_pages, file_pages, *_ = map(int, text.split())
    return (resident_pages - file_pages) * PAGE


def mapped_memory(pid: int) -> int:
    """The bytes that a process has mapped; 0 if the process has ended."""
    return _statm(pid, 0)


def resident_memory(pid: int) -> int:
    """A process's resident bytes; 0 if the process has ended."""
    return _statm(pid, 1)


def _statm(pid: int, field: int) -> int:
    text = read_proc_file(f"/proc/{pid}/statm")  # man 5 proc: size resident shared
    return 0 if text is None else int(text.split()[field]) * PAGE


def read_stat(pid: int) -> list[bytes] | None:
    """The fields of `/proc/PID/stat` from the third, the state; None if the process has ended."""
    text = read_proc_file(f"/proc/{pid}/stat")
    return None if text is None else text.rpartition(b")")[2].split()


def read_proc_file(path: str) -> bytes | None:
    """Read a short file of `/proc`; None if its process has ended.

    Does not use `open`: its objects are on memory pages that a fresh copy of a process would have
    to copy.
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


def list_pids() -> list[int]:
    """The pids of all processes of the sandbox except the agent."""
    agent = os.getpid()
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != agent]


def list_measured_pids() -> list[int]:
    """The pids of `list_pids` without relays. If the first thread of a process has ended, the id of
    a live thread instead (`read_live_stat`)."""
    return [pid for pid, fields in map(read_live_stat, list_pids()) if not is_relay(fields)]


def read_live_stat(pid: int) -> tuple[int, list[bytes] | None]:
    """A process's pid and `read_stat`. If its first thread has ended, the id and the fields of
    another thread, because `/proc` then shows no memory for the first thread.
    """
    fields = read_stat(pid)
    for _ in range(_MAX_THREAD_READS):
        if not has_dead_leader(fields):
            break
        thread = _last_thread(pid)
        thread_fields = read_stat(thread)
        if thread_fields is not None and thread_fields[0] != b"Z":
            return thread, thread_fields
        fields = read_stat(pid)
    return pid, fields


def is_relay(fields: list[bytes] | None) -> bool:
    """Whether an engine has started the process in the sandbox (`relay.py`): its parent pid is 0.
    Only the agent and the init above it also have that parent. Orphans of the code belong to init.
    """
    return fields is not None and fields[1] == b"0"


def has_dead_leader(fields: list[bytes] | None) -> bool:
    """Whether the first thread of a process has ended, and other threads live."""
    return fields is not None and fields[0] == b"Z" and int(fields[17]) > 1


def _last_thread(pid: int) -> int:
    try:
        return max(map(int, os.listdir(f"/proc/{pid}/task")), default=pid)
    except OSError:
        return pid

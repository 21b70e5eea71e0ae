"""Memory that no process has in its tables is known by its size, each mapping once."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile

import pytest

from sandbox.agent import processes, resource_monitor

MAPS = """
import mmap, os, sys, time
size, kind = int(sys.argv[1]), sys.argv[2]
if kind == "shared":
    held = mmap.mmap(-1, size)
elif kind == "memfd":
    fd = os.memfd_create("any")
    os.ftruncate(fd, size)
    held = mmap.mmap(fd, size)
elif kind == "private":
    held = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
else:
    file = open(kind, "w+b")
    file.truncate(size)
    held = mmap.mmap(file.fileno(), size)
os.write(1, b"%d\\n" % os.fork())
sys.stdin.read()
"""
SIZE = 24 << 20


def sizes(kind: str) -> int:
    """What is counted of two processes that hold one mapping of SIZE bytes."""
    with subprocess.Popen(
        [sys.executable, "-c", MAPS, str(SIZE), kind],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as child:
        assert child.stdout is not None
        lines = [int(child.stdout.readline()) for _ in range(2)]
        return resource_monitor.shared_sizes([child.pid, max(lines)])


def test_a_shared_mapping_counts_once() -> None:
    assert sizes("shared") == SIZE
    assert sizes("memfd") == SIZE


def test_what_is_private_or_a_file_is_counted_elsewhere() -> None:
    with tempfile.NamedTemporaryFile() as file:
        assert sizes("private") == sizes(file.name) == 0


def test_a_process_that_is_gone_has_nothing() -> None:
    assert resource_monitor.shared_sizes([2**22 + 1]) == 0
    assert processes.mapped(2**22 + 1) == processes.resident(2**22 + 1) == 0


SPLIT = """
import ctypes, sys
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, *[ctypes.c_size_t] * 5]
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
start = libc.mmap(None, 60_000 * 4096, 1, 0x22, 2**64 - 1, 0)
for page in range(0, 60_000, 2):
    libc.mprotect(start + page * 4096, 4096, 0)
print(flush=True)
sys.stdin.read()
"""


def test_who_has_too_many_mappings_is_counted_with_all_of_them() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", SPLIT], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        whole = processes.mapped(child.pid)
        assert whole > 60_000 * 4096
        assert resource_monitor.shared_sizes([child.pid]) == whole


def test_asking_takes_no_longer_than_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource_monitor, "CAREFUL_SECONDS", 0.0)
    own = os.getpid()
    assert resource_monitor.shared_sizes([own]) == processes.mapped(own)


def test_sockets_are_counted() -> None:
    pairs = [socket.socketpair() for _ in range(200)]
    assert resource_monitor.sockets() >= 2 * len(pairs)
    for one, other in pairs:
        one.close()
        other.close()

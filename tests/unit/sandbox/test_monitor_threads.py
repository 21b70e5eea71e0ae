"""A process whose first thread has ended is still a process, and holds what it held."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from sandbox.agent import processes, supervise

SIZE = 24 << 20
LEADERLESS = """
import ctypes, os, sys, threading
def hold():
    kept = bytearray(b"x") * int(sys.argv[1])
    os.write(1, b".")
    os.read(0, 1)
    os._exit(len(kept) & 0)
threading.Thread(target=hold).start()
ctypes.CDLL(None).syscall({"x86_64": 60, "aarch64": 93}[os.uname().machine], 0)
"""


@pytest.fixture
def leaderless() -> Iterator[int]:
    with subprocess.Popen(
        [sys.executable, "-c", LEADERLESS, str(SIZE)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.read(1) == b"."
        until = time.monotonic() + 20.0
        while (
            not processes.is_led_by_the_dead(processes.stat(process.pid))
            and time.monotonic() < until
        ):
            time.sleep(0.005)
        yield process.pid


def test_it_is_seen_by_a_thread_that_lives(leaderless: int) -> None:
    number, fields = processes.seen(leaderless)
    assert processes.resident(leaderless) == 0  # what /proc says of the first
    assert number != leaderless
    assert number in processes.processes()
    assert fields is not None
    assert fields[0] != b"Z"
    assert processes.resident(number) >= SIZE
    assert processes.mapped(number) >= SIZE


def test_it_is_alive(leaderless: int) -> None:
    assert supervise._alive(leaderless)


def test_any_other_is_seen_by_its_own_number() -> None:
    assert processes.seen(os.getpid())[0] == os.getpid()
    assert processes.seen(2**22 + 1) == (2**22 + 1, None)

"""Memory: of processes, shared, of the kernel's buffers."""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from lab.drills.attacks.attack import BaselineControl, RaisedLimits, attack
from lab.drills.attacks.probes.primitives import attempt, call, child, kill, libc
from sandbox.protocol import MIB, End, Limits

UP_TO_A_GIB = RaisedLimits(Limits(memory_bytes=1024 * MIB))
FILLED_MIB, PROCESSES = 40, 8

memory_attack = partial(
    attack,
    limits=Limits(memory_bytes=128 * MIB, workspace_bytes=8 * MIB),
    ends=frozenset({End.MEMORY}),
    control=UP_TO_A_GIB,
)
SMALL = Limits(memory_bytes=64 * MIB, workspace_bytes=8 * MIB)


@memory_attack(control=RaisedLimits(Limits(memory_bytes=512 * MIB)))
def memory_one_process() -> str | None:
    """Fills more memory than the limit, in one process."""
    blocks = []
    try:
        for _ in range(300):
            blocks.append(bytearray(b"x") * (1 << 20))
            time.sleep(0.002)  # a burst between two samples is limited, too, but not by this limit
    except MemoryError:
        return None
    time.sleep(0.3)
    return f"{len(blocks)} MiB held for 0.3 s"


def wait_for_all(reading: int) -> int:
    """The number of processes that have reported, by one byte each, that they are done."""
    done = 0
    while done < PROCESSES and select.select([reading], [], [], 8.0)[0]:
        done += len(os.read(reading, PROCESSES))
    return done


def killed(pids: list[int]) -> int:
    """The number of processes that have ended: the kernel kills some that have filled their
    memory.
    """
    wait_options = os.WEXITED | os.WNOHANG | os.WNOWAIT
    return sum(os.waitid(os.P_PID, pid, wait_options) is not None for pid in pids)


@memory_attack()
def memory_eight_processes() -> str | None:
    """Fills more memory than the limit, in eight processes that each stay below it."""
    reading, writing = os.pipe()

    def fill() -> None:
        block = bytearray(b"x") * (FILLED_MIB << 20)
        os.write(writing, block[:1])
        time.sleep(10)

    pids = [child(fill) for _ in range(PROCESSES)]
    os.close(writing)
    filled = wait_for_all(reading)
    time.sleep(0.4)
    filled -= killed(pids)
    kill(*pids)
    return f"{filled} processes held {FILLED_MIB} MiB each" if filled == PROCESSES else None


@attack(
    limits=Limits(memory_bytes=512 * MIB, workspace_bytes=8 * MIB),
    ends=frozenset({End.MEMORY}),
    control=RaisedLimits(Limits(memory_bytes=4096 * MIB)),
    alone=True,
)
def memory_burst() -> str | None:
    """Fills more than twice the memory limit at once, before a sample can be taken."""
    reading, writing = os.pipe()
    start_read, start = os.pipe()
    size = 160

    def fill() -> None:
        os.read(start_read, 1)
        # MAP_POPULATE (0x8000): the kernel fills it within one system call.
        block = mmap.mmap(-1, size << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANON | 0x8000)
        os.write(writing, b"1")
        signal.pause()
        block.close()

    pids = [child(fill) for _ in range(PROCESSES)]
    os.close(writing)
    os.write(start, b"12345678")
    filled = wait_for_all(reading) - killed(pids)
    kill(*pids)
    return f"{filled * size} MiB at one moment" if filled == PROCESSES else None


def fill_shared() -> str | None:
    """Fills more memory than the limit in mappings that eight processes share, each a part."""
    parts = attempt(lambda: [mmap.mmap(-1, FILLED_MIB << 20) for _ in range(PROCESSES)])
    if parts is None:
        return None

    def fill(part: mmap.mmap) -> None:
        for at in range(0, len(part), 4096):
            part[at] = 1

    for part in parts:
        # The pages of an ended child stay: they belong to the mapping, which all processes hold.
        os.waitpid(child(fill, part), 0)
    time.sleep(0.4)
    touched = sum(len(part) for part in parts if part[0] == 1)
    return f"{touched >> 20} MiB of shared memory" if touched == 8 * len(parts[0]) else None


memory_shared = memory_attack()(fill_shared)


@memory_attack()
def memory_hidden() -> str | None:
    """Fills more memory than the limit in shared mappings that no process can read."""
    libc().prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE; it is inherited
    return fill_shared()


@memory_attack(limits=SMALL)
def leader_gone() -> str | None:
    """Holds more memory than the limit in a process whose first thread has ended: it looks dead."""
    read, write = os.pipe()
    most = 320

    def fill() -> None:
        time.sleep(0.3)  # until the process looks dead
        blocks: list[bytearray] = []
        while len(blocks) < most:
            blocks.append(bytearray(b"x") * (1 << 20))
            time.sleep(0.001)
        time.sleep(0.4)
        os.write(write, b"1")
        os._exit(0)

    def end_first_thread() -> None:
        threading.Thread(target=fill).start()
        call("exit", 0)

    child(end_first_thread)
    os.close(write)
    if select.select([read], [], [], 8.0)[0] and os.read(read, 1):
        return f"a process without its first thread held {most} MiB"
    return None


@memory_attack(ends=frozenset({End.MEMORY, End.SIGNALED}))
def recursion() -> str | None:
    """Recurses without end, so that the interpreter's stack fills the memory."""
    sys.setrecursionlimit(1 << 30)

    def recurse(depth: int, _memory: bytearray) -> int:
        return depth if depth >= 400_000 else recurse(depth + 1, bytearray(512))

    try:
        deep = recurse(0, bytearray())
    except (MemoryError, RecursionError):
        return None
    return f"{deep} calls deep"


@attack(control=BaselineControl(host_root=True))
def locked_memory() -> str | None:
    """Locks memory, so that the kernel cannot take it back."""
    memory = mmap.mmap(-1, 32 << 20)
    start = ctypes.c_char.from_buffer(memory)
    locked = libc().mlock(ctypes.byref(start), ctypes.c_size_t(len(memory))) == 0
    return "32 MiB are locked" if locked else None


@attack(
    limits=Limits(memory_bytes=128 * MIB, file_bytes=128 * MIB),
    ends=frozenset({End.DISK, End.MEMORY}),
)
def shm_fill(inputs: dict[str, Any]) -> str | None:
    """Fills shared memory: `/dev/shm`, memory files and segments of System V."""
    size, total = 96, 0
    path = f"/dev/shm/{inputs['mark']}"
    descriptors = []
    for nameless in (False, True):
        try:
            segments = os.memfd_create("m") if nameless else os.open(path, os.O_CREAT | os.O_RDWR)
            descriptors.append(segments)
            for _ in range(size):
                total += os.write(segments, bytes(1 << 20))
        except OSError:
            continue
    if os.path.exists(path):
        os.unlink(path)
    segment = libc().shmget(0, size << 20, 0o1600)
    if segment >= 0:
        total += size << 20
        libc().shmctl(segment, 0, None)
    return f"{total >> 20} MiB of shared memory" if total >= 160 << 20 else None


def total_held(processes: int, fill: Callable[..., int], *words: Any) -> int:
    """The bytes that the kernel holds at once for this number of processes; `fill(*words)` counts
    the bytes of one process. The objects of `fill` must stay open after it, because the kernel
    frees the memory of closed objects.
    """
    read, write = os.pipe()

    def hold() -> None:
        os.write(write, fill(*words).to_bytes(8, "big"))
        signal.pause()

    pids = [child(hold) for _ in range(processes)]
    os.close(write)
    total = sum(int.from_bytes(os.read(read, 8), "big") for _ in pids)
    time.sleep(0.4)
    kill(*pids)
    return total


@attack(
    limits=Limits(memory_bytes=64 * MIB),
    ends=frozenset({End.MEMORY}),
    control=BaselineControl(host_root=True),
    alone=True,
)
def pipe_buffers() -> str | None:
    """Fills pipes of the largest size in several processes: kernel memory of no process."""

    def fill() -> int:
        size = 0
        for _ in range(80):
            try:
                _, write = os.pipe2(os.O_NONBLOCK)
                fcntl.fcntl(write, 1031, 1 << 20)  # F_SETPIPE_SZ
            except OSError:
                pass
            while wrote := attempt(os.write, write, bytes(65_536)):
                size += wrote
        return size

    total = total_held(4, fill)
    return f"{total >> 20} MiB in pipes" if total >= 128 << 20 else None


@attack(limits=SMALL, ends=frozenset({End.MEMORY, End.DISK}), alone=True)
def socket_buffers() -> str | None:
    """Fills the buffers of sockets in several processes: kernel memory of no process."""

    def fill() -> int:
        size = 0
        for _ in range(110):
            # 64 MiB are enough evidence, on a machine that allows large buffers.
            pair = attempt(socket.socketpair) if size < 64 << 20 else None
            for end in pair or ():
                end.setblocking(False)
                end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
                while sent := attempt(end.send, bytes(65_536)):
                    size += sent
                end.detach()
        return size

    total = total_held(6, fill)
    return f"{total >> 20} MiB in sockets" if total >= 256 << 20 else None


def sent_until_full(end: socket.socket) -> int:
    """The bytes that a connection accepts until it accepts no more for some milliseconds."""
    end.setblocking(False)
    total, idle = 0, 0
    while idle < 5:
        sent = attempt(end.send, bytes(1 << 20))
        total += sent or 0
        idle = 0 if sent else idle + 1
        time.sleep(0 if sent else 0.001)
    return total


@attack(limits=SMALL, ends=frozenset({End.MEMORY}), alone=True)
def socket_buffers_tcp() -> str | None:
    """Fills the buffers of TCP sockets, as far as they grow, or as large as one may request."""

    def pair(server: socket.socket, wished: int) -> list[socket.socket]:
        client = socket.socket()
        for end in (server, client) if wished else ():
            for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
                end.setsockopt(socket.SOL_SOCKET, option, wished)
        client.connect(server.getsockname())
        return [client, server.accept()[0]]

    def fill(wished: int) -> int:
        size = 0
        ends: list[socket.socket] = []
        server = socket.create_server(("127.0.0.1", 0))
        until = time.monotonic() + 5.0
        while len(ends) < 160 and size < 48 << 20 and time.monotonic() < until:
            for end in pair(server, wished):
                ends.append(end)
                size += sent_until_full(end)
        for end in ends:
            end.detach()
        return size

    for wished in (4 << 20, 0):
        total = total_held(6, fill, wished)
        if total >= 192 << 20:
            return f"{total >> 20} MiB in TCP's sockets, of {wished} bytes by wish"
    return None

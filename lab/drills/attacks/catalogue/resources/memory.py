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

from sandbox.protocol import MIB, End, Limits

from lab.drills.attacks.attack import Baseline, Raised, attack
from lab.drills.attacks.probes.primitives import attempt, call, child, kill, libc

UP_TO_A_GIB = Raised(Limits(memory_bytes=1024 * MIB))
FILLED_MIB, PROCESSES = 40, 8

memory_attack = partial(
    attack,
    limits=Limits(memory_bytes=128 * MIB, workspace_bytes=8 * MIB),
    ends=frozenset({End.MEMORY}),
    control=UP_TO_A_GIB,
)
SMALL = Limits(memory_bytes=64 * MIB, workspace_bytes=8 * MIB)


@memory_attack(control=Raised(Limits(memory_bytes=512 * MIB)))
def memory_one_process() -> str | None:
    """Fills more memory than the limit, in one process."""
    kept = []
    try:
        for _ in range(300):
            kept.append(bytearray(b"x") * (1 << 20))
            time.sleep(
                0.002
            )  # a burst between two samples is bounded too, but not by this limit
    except MemoryError:
        return None
    time.sleep(0.3)
    return f"{len(kept)} MiB held for 0.3 s"


def wait_for_all(reading: int) -> int:
    """How many of the processes have said, by a byte each, that they are done."""
    done = 0
    while done < PROCESSES and select.select([reading], [], [], 8.0)[0]:
        done += len(os.read(reading, PROCESSES))
    return done


def killed(pids: list[int]) -> int:
    """How many have ended: the kernel kills some that have filled theirs, to free it for others."""
    ended = os.WEXITED | os.WNOHANG | os.WNOWAIT
    return sum(os.waitid(os.P_PID, pid, ended) is not None for pid in pids)


@memory_attack()
def memory_eight_processes() -> str | None:
    """Fills more memory than the limit, in eight processes that each stay below it."""
    reading, writing = os.pipe()

    def fill() -> None:
        kept = bytearray(b"x") * (FILLED_MIB << 20)
        os.write(writing, kept[:1])
        time.sleep(10)

    pids = [child(fill) for _ in range(PROCESSES)]
    os.close(writing)
    filled = wait_for_all(reading)
    time.sleep(0.4)
    filled -= killed(pids)
    kill(*pids)
    return (
        f"{filled} processes held {FILLED_MIB} MiB each"
        if filled == PROCESSES
        else None
    )


@attack(
    limits=Limits(memory_bytes=512 * MIB, workspace_bytes=8 * MIB),
    ends=frozenset({End.MEMORY}),
    control=Raised(Limits(memory_bytes=4096 * MIB)),
    alone=True,
)
def memory_burst() -> str | None:
    """Fills more than twice the memory limit at once, before anyone can have looked."""
    reading, writing = os.pipe()
    go, start = os.pipe()
    size = 160

    def fill() -> None:
        os.read(go, 1)
        # MAP_POPULATE (0x8000): the kernel fills it within one system call.
        kept = mmap.mmap(
            -1, size << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANON | 0x8000
        )
        os.write(writing, b"1")
        signal.pause()
        kept.close()

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
        os.waitpid(
            child(fill, part), 0
        )  # its pages stay: they belong to the mapping, held by all
    time.sleep(0.4)
    touched = sum(len(part) for part in parts if part[0] == 1)
    return (
        f"{touched >> 20} MiB of shared memory"
        if touched == 8 * len(parts[0])
        else None
    )


memory_shared = memory_attack()(fill_shared)


@memory_attack()
def memory_hidden() -> str | None:
    """Fills more memory than the limit in mappings that are shared, and that nobody can look at."""
    libc().prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE; it is inherited
    return fill_shared()


@memory_attack(limits=SMALL)
def leader_gone() -> str | None:
    """Holds more memory than the limit in a process whose first thread has ended: it looks dead."""
    read, write = os.pipe()
    most = 320

    def fill() -> None:
        time.sleep(0.3)  # until it looks dead
        kept: list[bytearray] = []
        while len(kept) < most:
            kept.append(bytearray(b"x") * (1 << 20))
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
    """Recurses without end, so that the interpreter's own stack fills the memory."""
    sys.setrecursionlimit(1 << 30)

    def deeper(depth: int, _kept: bytearray) -> int:
        return depth if depth >= 400_000 else deeper(depth + 1, bytearray(512))

    try:
        deep = deeper(0, bytearray())
    except (MemoryError, RecursionError):
        return None
    return f"{deep} calls deep"


@attack(control=Baseline(host_root=True))
def locked_memory() -> str | None:
    """Locks memory, so that it cannot be taken back."""
    memory = mmap.mmap(-1, 32 << 20)
    start = ctypes.c_char.from_buffer(memory)
    locked = libc().mlock(ctypes.byref(start), ctypes.c_size_t(len(memory))) == 0
    return "32 MiB are locked" if locked else None


@attack(
    limits=Limits(memory_bytes=128 * MIB, file_bytes=128 * MIB),
    ends=frozenset({End.DISK, End.MEMORY}),
)
def shm_fill(given: dict[str, Any]) -> str | None:
    """Fills shared memory: `/dev/shm`, beside it memory files and segments of System V."""
    size, total = 96, 0
    path = f"/dev/shm/{given['mark']}"
    descriptors = []
    for nameless in (False, True):
        try:
            made = (
                os.memfd_create("m")
                if nameless
                else os.open(path, os.O_CREAT | os.O_RDWR)
            )
            descriptors.append(made)
            for _ in range(size):
                total += os.write(made, bytes(1 << 20))
        except OSError:
            continue
    if os.path.exists(path):
        os.unlink(path)
    segment = libc().shmget(0, size << 20, 0o1600)
    if segment >= 0:
        total += size << 20
        libc().shmctl(segment, 0, None)
    return f"{total >> 20} MiB of shared memory" if total >= 160 << 20 else None


def held_by_all(processes: int, fill: Callable[..., int], *words: Any) -> int:
    """The bytes that so many processes have the kernel hold at once, as `fill(*words)` counts its
    own. What that has opened must stay open after it: what its objects close, the kernel frees.
    """
    read, write = os.pipe()

    def hold() -> None:
        os.write(write, fill(*words).to_bytes(8, "big"))
        signal.pause()

    pids = [child(hold) for _ in range(processes)]
    os.close(write)
    held = sum(int.from_bytes(os.read(read, 8), "big") for _ in pids)
    time.sleep(0.4)
    kill(*pids)
    return held


@attack(
    limits=Limits(memory_bytes=64 * MIB),
    ends=frozenset({End.MEMORY}),
    control=Baseline(host_root=True),
    alone=True,
)
def pipe_buffers() -> str | None:
    """Fills pipes of the largest size in several processes: kernel memory that no process has."""

    def fill() -> int:
        held = 0
        for _ in range(80):
            try:
                _, write = os.pipe2(os.O_NONBLOCK)
                fcntl.fcntl(write, 1031, 1 << 20)  # F_SETPIPE_SZ
            except OSError:
                pass
            while wrote := attempt(os.write, write, bytes(65_536)):
                held += wrote
        return held

    held = held_by_all(4, fill)
    return f"{held >> 20} MiB in pipes" if held >= 128 << 20 else None


@attack(limits=SMALL, ends=frozenset({End.MEMORY, End.DISK}), alone=True)
def socket_buffers() -> str | None:
    """Fills the buffers of sockets in several processes: kernel memory that no process has."""

    def fill() -> int:
        held = 0
        for _ in range(110):
            # 64 MiB are proof enough, on a machine that allows large buffers.
            pair = attempt(socket.socketpair) if held < 64 << 20 else None
            for one in pair or ():
                one.setblocking(False)
                one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
                while sent := attempt(one.send, bytes(65_536)):
                    held += sent
                one.detach()
        return held

    held = held_by_all(6, fill)
    return f"{held >> 20} MiB in sockets" if held >= 256 << 20 else None


def sent_until_full(one: socket.socket) -> int:
    """The bytes that a connection takes until it takes no more for some milliseconds."""
    one.setblocking(False)
    total, idle = 0, 0
    while idle < 5:
        sent = attempt(one.send, bytes(1 << 20))
        total += sent or 0
        idle = 0 if sent else idle + 1
        time.sleep(0 if sent else 0.001)
    return total


@attack(limits=SMALL, ends=frozenset({End.MEMORY}), alone=True)
def socket_buffers_tcp() -> str | None:
    """Fills the buffers of TCP's sockets, as large as they grow, or as one may wish them."""

    def pair(server: socket.socket, wished: int) -> list[socket.socket]:
        one = socket.socket()
        for each in (server, one) if wished else ():
            for option in (socket.SO_SNDBUF, socket.SO_RCVBUF):
                each.setsockopt(socket.SOL_SOCKET, option, wished)
        one.connect(server.getsockname())
        return [one, server.accept()[0]]

    def fill(wished: int) -> int:
        held = 0
        kept: list[socket.socket] = []
        server = socket.create_server(("127.0.0.1", 0))
        until = time.monotonic() + 5.0
        while len(kept) < 160 and held < 48 << 20 and time.monotonic() < until:
            for one in pair(server, wished):
                kept.append(one)
                held += sent_until_full(one)
        for one in kept:
            one.detach()
        return held

    for wished in (4 << 20, 0):
        held = held_by_all(6, fill, wished)
        if held >= 192 << 20:
            return f"{held >> 20} MiB in TCP's sockets, of {wished} bytes by wish"
    return None

"""Watching a run: its output, its time, and what its whole tree of processes uses.

Memory and CPU time are totals of the tree, sampled from `/proc`: rlimits count for one process
each, and eight processes hold eight times as much.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import socket
import time
from dataclasses import dataclass, field
from typing import Any

from sandbox.room.program import Program

CHUNK = 1 << 16
TICKS = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
INIT = 1
TMPFS = ("/work", "/tmp", "/run", "/dev/shm")  # noqa: S108


class Kept:
    """The head and the tail of a stream, at most `limit` bytes together, and the count of all."""

    def __init__(self, limit: int) -> None:
        self._head_limit = limit - limit // 2
        self._tail_limit = limit // 2
        self.head = bytearray()
        self._tail = bytearray()
        self.total = 0

    def add(self, data: bytes) -> None:
        """Keep what belongs to the head or, for now, to the tail."""
        self.total += len(data)
        room = self._head_limit - len(self.head)
        self.head += data[:room]
        self._tail += data[room:]
        if len(self._tail) > self._tail_limit + CHUNK:
            del self._tail[: len(self._tail) - self._tail_limit]

    @property
    def tail(self) -> bytes:
        """The last bytes beyond the head."""
        return bytes(self._tail[max(0, len(self._tail) - self._tail_limit) :])

    @property
    def dropped(self) -> int:
        """How many bytes between head and tail are gone."""
        return self.total - len(self.head) - len(self.tail)


@dataclass
class Watched:
    """What was seen of a run. `end` is the limit that was hit first, if one was."""

    stdout: Kept
    stderr: Kept
    end: str | None = None
    status: int = 0
    """As `waitpid` gives it."""
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    _open: set[int] = field(default_factory=set)


def watch(program: Program, order: dict[str, Any], stdin: bytes, control: socket.socket) -> Watched:
    """Follow the program to its end or to a limit, then kill whatever is left in the room."""
    seen = Watched(Kept(order["output_bytes"]), Kept(order["output_bytes"]))
    started = time.monotonic()
    pidfd = os.pidfd_open(program.pid)
    with selectors.DefaultSelector() as selector:
        selector.register(pidfd, selectors.EVENT_READ)
        selector.register(control, selectors.EVENT_READ)
        selector.register(program.stdout, selectors.EVENT_READ, seen.stdout)
        selector.register(program.stderr, selectors.EVENT_READ, seen.stderr)
        pending = memoryview(stdin)
        selector.register(program.stdin, selectors.EVENT_WRITE)
        next_sample = started + order["sample_seconds"]
        running = True
        while running and seen.end is None:
            now = time.monotonic()
            if now >= started + order["wall_seconds"]:
                seen.end = "timeout"
            elif now >= next_sample:
                seen.end = exceeded(order, seen)
                next_sample = time.monotonic() + order["sample_seconds"]
            due = min(next_sample, started + order["wall_seconds"]) - time.monotonic()
            for key, _ in selector.select(max(0.0, due)):
                if key.fileobj is control:
                    os._exit(0)  # the host has gone, or speaks out of turn: the room ends
                elif key.fd == pidfd:
                    running = False
                elif key.fd == program.stdin:
                    pending = _feed(selector, program.stdin, pending)
                else:
                    _take(selector, key)
            if seen.stdout.total + seen.stderr.total > order["flood_bytes"]:
                seen.end = seen.end or "output"
        seen.seconds = time.monotonic() - started
        kill_all()
        _, seen.status, usage = os.wait4(program.pid, 0)
        seen.cpu_seconds = max(seen.cpu_seconds, usage.ru_utime + usage.ru_stime)
        _drain(selector, order["flood_bytes"])
    return seen


def _feed(selector: selectors.BaseSelector, fd: int, pending: memoryview) -> memoryview:
    """Write what the pipe takes; close it at the end, or when nobody reads."""
    try:
        pending = pending[os.write(fd, pending[:CHUNK]) :] if pending else pending
    except BrokenPipeError:
        pending = pending[:0]
    if not pending:
        selector.unregister(fd)
        os.close(fd)
    return pending


def _take(selector: selectors.BaseSelector, key: selectors.SelectorKey) -> int:
    """Read once from an output; its end closes it."""
    try:
        data = os.read(key.fd, CHUNK)
    except BlockingIOError:
        return 0
    if not data:
        selector.unregister(key.fd)
        os.close(key.fd)
    key.data.add(data)
    return len(data)


def _drain(selector: selectors.BaseSelector, limit: int) -> None:
    """What the dead have left in the pipes: no more than a pipe holds, a second at most."""
    left, until = limit, time.monotonic() + 1.0
    outputs = [key for key in selector.get_map().values() if isinstance(key.data, Kept)]
    while outputs and left > 0 and time.monotonic() < until:
        ready = [key for key, _ in selector.select(0.05) if isinstance(key.data, Kept)]
        left -= sum(_take(selector, key) for key in ready)
        outputs = [key for key in selector.get_map().values() if isinstance(key.data, Kept)]


def exceeded(order: dict[str, Any], seen: Watched) -> str | None:
    """The limit of the whole tree that is passed at this moment, if one is."""
    memory, seen.cpu_seconds = usage(exact=False)
    if memory > order["memory_bytes"]:
        # Resident pages that are shared are counted for each process: look closer before killing.
        memory, _ = usage(exact=True)
    if memory > order["memory_bytes"]:
        return "memory"
    if seen.cpu_seconds > order["cpu_seconds"]:
        return "cpu"
    inodes = sum(stat.f_files - stat.f_ffree for stat in map(os.statvfs, TMPFS))
    return "disk" if inodes > order["inodes"] else None


def usage(*, exact: bool) -> tuple[int, float]:
    """The tree's memory in bytes (resident; `exact`: shared pages by share) and CPU seconds."""
    memory, ticks = 0, 0
    for pid in processes():
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123  (20 times a second)
                fields = file.read().rpartition(b")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        # man 5 proc, counted from field 3: utime, stime, cutime, cstime, rss
        ticks += sum(map(int, fields[13:15] if pid == INIT else fields[11:15]))
        resident = int(fields[21]) * PAGE
        memory += (_share(pid) if exact and pid != INIT else None) or resident
    return memory, ticks / TICKS


def _share(pid: int) -> int | None:
    """A process's proportional set size in bytes; None where it hides it."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/smaps_rollup", "rb") as file:  # noqa: PTH123
        for line in file:
            if line.startswith(b"Pss:"):
                return int(line.split()[1]) * 1024
    return None


def processes() -> list[int]:
    """Every process of the room but the agent."""
    own = os.getpid()
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != own]  # noqa: PTH208


def kill_all() -> None:
    """Kill every process of the room but init and the agent: detached, stopped, forking ones too.

    The kernel signals them all under one lock, so none forks away; what remains to wait for is
    that they let go of their memory and files.
    """
    until = time.monotonic() + 2.0
    while time.monotonic() < until:
        try:
            os.kill(-1, signal.SIGKILL)
        except ProcessLookupError:
            return
        if not any(_alive(pid) for pid in processes() if pid != INIT):
            return
        time.sleep(0.001)


def _alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123
            return file.read().rpartition(b")")[2].split()[0] not in {b"Z", b"X"}
    except (FileNotFoundError, ProcessLookupError):
        return False

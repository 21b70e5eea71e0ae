"""The agent of a room: readies it, waits for one order, runs it, answers once, and ends.

It is a child of bubblewrap's init, so the code is never pid 1; and it is the parent of the code,
so exit codes and signals are what the kernel says.
"""

# ruff: noqa: PTH123

from __future__ import annotations

import ctypes
import os

from sandbox.room import program, wire
from sandbox.room.collect import collect, lay
from sandbox.room.watch import Watch, Watched

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

WORK = "/work"
READY = b"R"
_PR_SET_DUMPABLE = 4


class Given:
    """What the agent is told when its room is made (`rooms.plan` writes it)."""

    def __init__(self, path: str) -> None:
        with open(path, encoding="utf-8") as file:
            told = wire.lines(file.read())
        self.python = next(value for key, value in told if key == "python")
        self.main = next(value for key, value in told if key == "main")
        pairs = (value.partition("=") for key, value in told if key == "env")
        self.env = {name: value for name, _, value in pairs}


class Order:
    """What is to be run, read from the control socket; `sandbox/order.py` writes it."""

    def __init__(self, control: int) -> None:
        self.words: list[str] = []
        self.files: dict[str, bytes] = {}
        self.stdin = b""
        self.code: bytes | None = None
        self.limits: dict[str, float] = {}
        self.rlimits: dict[str, tuple[int, int]] = {}
        for key, value in wire.receive_lines(control):
            first, _, rest = value.partition(" ")
            if key == "word":
                self.words.append(wire.receive(control, int(first)).decode(errors="replace"))
            elif key == "file":
                self.files[rest] = wire.receive(control, int(first))
            elif key == "stdin":
                self.stdin = wire.receive(control, int(first))
            elif key == "code":
                self.code = wire.receive(control, int(first))
            elif key == "rlimit":
                name, soft, hard = value.split()
                self.rlimits[name] = int(soft), int(hard)
            else:
                self.limits[key] = float(value)


def main(control: int, given_path: str) -> None:
    """Serve one order over the socket `control`."""
    os.set_inheritable(control, False)
    _harden()
    given = Given(given_path)
    waiting = program.Waiting(given.python, given.main, given.env)
    wire.write_all(control, READY)
    try:
        order = Order(control)
    except EOFError:
        return
    lay(WORK, order.files)
    running = _start(waiting, order, given)
    seen = Watch(running, order.limits, order.stdin, control).follow()
    _answer(control, seen, order)


def _harden() -> None:
    """Keep the code out of this process, and let the kernel pick the room first when memory ends.

    Not dumpable: the code, of the same uid, cannot trace it nor open its memory or descriptors.
    """
    with open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
        file.write("1000")
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_DUMPABLE)")


def _start(waiting: program.Waiting, order: Order, given: Given) -> program.Program:
    """The interpreter that waits already, where it can take the code; else a new process."""
    if order.code is not None and program.plain_utf8(order.code):
        return waiting.feed(order.code, order.rlimits)
    waiting.discard()
    words = order.words
    if order.code is not None:
        program.write_main(given.main, order.code)
        words = program.python_command(given.python, given.main)
    return program.start(words, given.env, order.rlimits)


def _answer(control: int, seen: Watched, order: Order) -> None:
    left = collect(WORK, order.files, order.limits)
    kept = (seen.stdout, seen.stderr)

    def header() -> Iterator[str]:
        yield f"end {seen.end or '-'}"
        yield f"status {seen.status}"
        yield f"seconds {seen.seconds:.6f}"
        yield f"cpu_seconds {seen.cpu_seconds:.6f}"
        for name, stream in zip(("stdout", "stderr"), kept, strict=True):
            yield f"{name} {len(stream.head)} {len(stream.tail)} {stream.dropped}"
        for path, data in left.changed.items():
            yield f"changed {len(data)} {path}"
        yield from (f"deleted {path}" for path in left.deleted)
        yield from (f"refused {words}" for words in left.refused)

    outputs = [part for stream in kept for part in (bytes(stream.head), stream.tail)]
    wire.send(control, header(), [*outputs, *left.changed.values()])

"""The agent of a room: readies it, waits for one order, runs it, answers once, and ends.

It is a child of bubblewrap's init, so the code is never pid 1; and it is the parent of the code,
so exit codes and signals are what the kernel says.
"""

from __future__ import annotations

import ctypes
import json
import os
import socket
from pathlib import Path
from typing import Any

from sandbox.room import program, wire
from sandbox.room.collect import collect, lay
from sandbox.room.watch import Watched, watch

WORK = Path("/work")
READY = b"R"
_PR_SET_DUMPABLE = 4


def main(descriptor: int, given_path: str) -> None:
    """Serve one order over the socket `descriptor`."""
    control = socket.socket(fileno=descriptor)
    control.set_inheritable(False)
    _harden()
    given = json.loads(Path(given_path).read_text())
    main_path = Path(given["main"])
    waiting = program.wait_for_code(given["python"], main_path, given["env"])
    control.sendall(READY)
    try:
        order = wire.receive_header(control)
        files = {path: wire.receive(control, size) for path, size in order["files"]}
        stdin = wire.receive(control, order["stdin"])
        code = None if order["code"] is None else wire.receive(control, order["code"])
    except EOFError:
        return
    lay(WORK, files)
    running = _start(waiting, order, code, given)
    seen = watch(running, order, stdin, control)
    _answer(control, seen, files, order)


def _harden() -> None:
    """Keep the code out of this process, and let the kernel pick the room first when memory ends.

    Not dumpable: the code, of the same uid, cannot trace it nor open its memory or descriptors.
    """
    Path("/proc/self/oom_score_adj").write_text("1000")
    if ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_DUMPABLE)")


def _start(
    waiting: program.Waiting, order: dict[str, Any], code: bytes | None, given: dict[str, Any]
) -> program.Program:
    """The interpreter that waits already, where it can take the code; else a new process."""
    if code is not None and program.plain_utf8(code):
        return waiting.feed(code, order["rlimits"])
    waiting.program.discard()
    os.close(waiting.script)
    argv = order["argv"]
    if code is not None:
        program.write_main(waiting.main, code)
        argv = program.python_command(given["python"], waiting.main)
    return program.start(argv, given["env"], order["rlimits"])


def _answer(
    control: socket.socket, seen: Watched, files: dict[str, bytes], order: dict[str, Any]
) -> None:
    left = collect(WORK, files, order)
    kept = (seen.stdout, seen.stderr)
    header = {
        "end": seen.end,
        "status": seen.status,
        "seconds": seen.seconds,
        "cpu_seconds": seen.cpu_seconds,
        "streams": [[len(each.head), len(each.tail), each.dropped] for each in kept],
        "changed": [[path, len(data)] for path, data in left.changed.items()],
        "deleted": left.deleted,
        "refused": left.refused,
    }
    outputs = [part for each in kept for part in (bytes(each.head), each.tail)]
    wire.send(control, header, [*outputs, *left.changed.values()])

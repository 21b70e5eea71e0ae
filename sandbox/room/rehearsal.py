"""Rehearsing a run in the process that rooms are copied from, before there is any room.

What an interpreter does for the first time it takes notes of: which type has which attribute, which
form of an instruction fits. In a copy of a process each note is a page to be copied; taken before,
they are there for all copies, and the pages that a room copies are half as many. The order is the
host's (`local/plan.py`); its code does nothing, and nothing of a job is there yet.
"""

# ruff: noqa: PTH101, PTH102, PTH106, PTH108, PTH120, PTH123, PTH208

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import os
import socket

from sandbox.room import agent, interpreter, program
from sandbox.room.tally import Tally

MAIN = "/tmp/rehearsal/main.py"  # noqa: S108  (the nursery's own)
TIMES = 9
"""Code finds its form when it has run eight times (`Include/internal/pycore_code.h` of CPython)."""
_ANSWER_BYTES = 1 << 16


def rehearse(order: str, known: interpreter.Known) -> None:
    """Serve the order that lies at the path `order`, and leave no trace. Raises RuntimeError where
    a run fails: so would all that come after it.
    """
    with open(order, "rb") as file:
        data = file.read()
    given = agent.Given(known.given.python, MAIN, known.given.env)
    before = set(os.listdir("/proc/self/fd"))
    # The nursery does not want to know how its children ended; an agent does.
    _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)
    for _ in range(TIMES):
        _once(data, given, known)
        interpreter.practise(known)
    # As it was: what a process does once, and for the rest of its life.
    for name in set(os.listdir("/proc/self/fd")) - before:
        try:  # noqa: SIM105
            os.close(int(name))
        except OSError:  # the listing's own
            pass
    program.set_dumpable(1)
    _signal.set_wakeup_fd(-1)
    _signal.signal(_signal.SIGCHLD, _signal.SIG_IGN)


def _once(order: bytes, given: agent.Given, known: interpreter.Known) -> None:
    folder = os.path.dirname(MAIN)
    os.mkdir(folder)
    room, host = socket.socketpair()
    with room, host:
        host.sendall(order)
        agent.serve(room.fileno(), room.fileno(), given, interpreter.prepare(known), Tally())
        answer = host.recv(_ANSWER_BYTES)
    if b"\nstatus 0\n" not in answer:
        raise RuntimeError(f"a rehearsal failed: {answer!r}")
    os.chmod(folder, 0o700)
    os.unlink(MAIN)
    os.rmdir(folder)

"""The runs of the drill: runs that end normally, and runs that leave things to clean up in every
way.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from sandbox.protocol import MIB, Command, End, Limits, RunResult

LIMITS = Limits(wall_seconds=20.0)

_DAEMON = """
import os, signal, time
for number in (1, 2, 15): signal.signal(number, signal.SIG_IGN)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open('/tmp/held', 'w').write('x' * 10000)
        time.sleep(600)
    os._exit(0)
os.wait()
print('left one behind')
"""
_HANGS = """
import os, signal, time
for number in (1, 2, 15): signal.signal(number, signal.SIG_IGN)
if os.fork() == 0: os.kill(os.getpid(), signal.SIGSTOP)
time.sleep(600)
"""
_FILES = """
import os
os.makedirs('a/b')
for number in range(20): open(f'a/b/{number}.bin', 'wb').write(os.urandom(1000))
os.symlink('/etc/passwd', 'a/link'); os.mkfifo('a/fifo')
open('/dev/shm/kept', 'wb').write(b'x' * 100000)
"""
_TALKS = """
import socket, threading
server = socket.create_server(('127.0.0.1', 0))
def answer(): server.accept()[0].sendall(b'hello')
threading.Thread(target=answer).start()
print(socket.create_connection(server.getsockname()).recv(5).decode())
"""


@dataclass(frozen=True, slots=True)
class RunKind:
    """A kind of run, with a share of `weight` percent. `holds` decides whether it ended as
    expected. `patience` is the time after which the caller abandons the run, which is the expected
    end of such a run.
    """

    name: str
    weight: int
    code: str
    holds: Callable[[RunResult], bool]
    limits: Limits = LIMITS
    patience: float | None = None

    @property
    def command(self) -> Command:
        """The command of the run."""
        return Command.python(self.code, {"in/given.txt": b"given"})


def _exit(code: int) -> Callable[[RunResult], bool]:
    return lambda result: result.end is End.EXITED and result.exit_code == code


def _end(*ends: End) -> Callable[[RunResult], bool]:
    return lambda result: result.end in ends


def _collected(result: RunResult) -> bool:
    return result.succeeded and len(result.changed) == 20


def _out_of_memory(result: RunResult) -> bool:
    return result.end is End.MEMORY or "MemoryError" in result.stderr.text


KINDS = (
    RunKind("prints", 38, "print(1)", _exit(0)),
    RunKind("exits with 3", 8, "import sys; sys.exit(3)", _exit(3)),
    RunKind("raises", 10, "def f(): return 1 / 0\nf()", _exit(1)),
    RunKind("writes files", 12, _FILES, _collected),
    RunKind("leaves a daemon", 8, _DAEMON, _exit(0)),
    RunKind("talks to itself", 6, _TALKS, _exit(0)),
    RunKind("kills itself", 6, "import os; os.kill(os.getpid(), 9)", _end(End.SIGNALED)),
    RunKind("hangs", 4, _HANGS, _end(End.TIMEOUT), replace(LIMITS, wall_seconds=0.3)),
    RunKind("floods", 3, "print('x' * 3_000_000)", _end(End.EXITED, End.OUTPUT)),
    RunKind(
        "eats memory",
        2,
        "kept = b'x' * (600 << 20)",
        _out_of_memory,
        replace(LIMITS, memory_bytes=200 * MIB),
    ),
    RunKind("is given up", 3, _HANGS, _end(), patience=0.05),
)


def kinds(count: int, seed: int = 3) -> Iterator[RunKind]:
    """`count` runs in a random order, which is the same in each drill."""
    yield from random.Random(seed).choices(  # noqa: S311 - an order, no secret
        KINDS, [kind.weight for kind in KINDS], k=count
    )

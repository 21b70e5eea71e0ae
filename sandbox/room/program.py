"""The program of a run: a fresh process in a session of its own, its streams on pipes.

An interpreter can be started before its code is known: its script is a FIFO, so it starts up,
opens the script and waits. When the code comes, a regular file takes the FIFO's name (tracebacks
and `multiprocessing` read it) and the same bytes go down the FIFO. It is a process of its own
either way, used for one run; what is saved is the time an interpreter takes to start.
"""

# ruff: noqa: PTH101, PTH104, PTH120, PTH123

from __future__ import annotations

import os
import resource
import signal

from sandbox.room.wire import write_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    Rlimits = Mapping[str, tuple[int, int]]


class Program:
    """A started process: its pid and our ends of its pipes."""

    def __init__(self, pid: int, stdin: int, stdout: int, stderr: int) -> None:
        self.pid, self.stdin, self.stdout, self.stderr = pid, stdin, stdout, stderr

    def discard(self) -> None:
        """Kill it, reap it and close its pipes."""
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        for fd in (self.stdin, self.stdout, self.stderr):
            os.close(fd)


def start(argv: list[str], env: Mapping[str, str], rlimits: Rlimits) -> Program:
    """Start `argv` in `/work`. What cannot be executed exits with 127 or 126, as in a shell."""
    stdin, write = os.pipe()
    out, stdout = os.pipe()
    err, stderr = os.pipe()
    pid = os.fork()
    if pid == 0:
        _become(argv, env, rlimits, (stdin, stdout, stderr))
    for fd in (stdin, stdout, stderr):
        os.close(fd)
    for fd in (write, out, err):
        os.set_blocking(fd, False)
    return Program(pid, write, out, err)


def _become(
    argv: list[str], env: Mapping[str, str], rlimits: Rlimits, streams: tuple[int, int, int]
) -> None:
    """Turn this fresh child into the program; never returns."""
    status = 126
    try:
        os.setsid()
        for number, fd in enumerate(streams):
            os.dup2(fd, number)
        # What is ignored stays so over exec: two by Python, any by whoever started the worker.
        for ignored in signal.valid_signals():
            if signal.getsignal(ignored) is signal.SIG_IGN:
                signal.signal(ignored, signal.SIG_DFL)
        os.chdir("/work")
        bound(0, rlimits)
        os.execvpe(argv[0], argv, env)  # noqa: S606
    except FileNotFoundError:
        status = 127
        os.write(2, f"{argv[0]}: not found\n".encode(errors="replace"))
    except (OSError, ValueError) as error:
        os.write(2, f"{argv[0]}: {error}\n".encode(errors="replace"))
    finally:
        os._exit(status)


def bound(pid: int, rlimits: Rlimits) -> None:
    """Give limits to a process that is already there; 0 is this one."""
    for name, pair in rlimits.items():
        resource.prlimit(pid, getattr(resource, name), pair)


class Waiting:
    """An interpreter that has opened its script `main`, a FIFO, and waits for the code."""

    def __init__(self, python: str, main: str, env: Mapping[str, str]) -> None:
        self.main = main
        os.mkfifo(main, 0o600)
        # A directory that was searched is searched again when its time has changed: without this,
        # an interpreter that looked into the empty /work a moment ago would miss the files laid
        # there within the same tick of the clock.
        os.utime("/work", (0, 0))
        self.program = start(python_command(python, main), env, {})
        self._script = os.open(main, os.O_WRONLY)  # returns when the interpreter has opened it

    def feed(self, code: bytes, rlimits: Rlimits) -> Program:
        """Give it its limits and its code; it runs from here on."""
        bound(self.program.pid, rlimits)
        write_main(self.main, code)
        try:  # noqa: SIM105  (contextlib is slow to import)
            write_all(self._script, code)
        except BrokenPipeError:
            pass  # a syntax error may end the reading early
        os.close(self._script)
        return self.program

    def discard(self) -> None:
        """Do without it: the order is for another program."""
        self.program.discard()
        os.close(self._script)


def python_command(python: str, main: str) -> list[str]:
    """The interpreter on its script, without the script's directory on the module path."""
    return [python, "-P", main]


def write_main(main: str, code: bytes) -> None:
    """Put the code at `main`, in place of whatever is there, and close its directory: a file that
    the code means to leave beside itself fails loudly instead of being lost.
    """
    with open(f"{main}.new", "wb") as file:
        file.write(code)
    os.rename(f"{main}.new", main)
    os.chmod(os.path.dirname(main), 0o555)  # noqa: S103


def plain_utf8(code: bytes) -> bool:
    """Whether an interpreter can read `code` from a pipe: another encoding makes it seek."""
    return b"coding" not in b"\n".join(code.split(b"\n", 2)[:2])

"""The program of a run: a fresh process in a session of its own, its streams on pipes.

An interpreter can be started before its code is known: its script is a FIFO, so it starts up,
opens the script and waits. When the code comes, a regular file takes the FIFO's name (tracebacks
and `multiprocessing` read it) and the same bytes go down the FIFO. It is a process of its own
either way, used for one run; what is saved is the time an interpreter takes to start.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
from dataclasses import dataclass
from pathlib import Path

Rlimits = dict[str, list[int]]


@dataclass(frozen=True)
class Program:
    """A started process: its pid and our ends of its pipes."""

    pid: int
    stdin: int
    stdout: int
    stderr: int

    def bound(self, rlimits: Rlimits) -> None:
        """Give limits to a process that is already there."""
        for name, (soft, hard) in rlimits.items():
            resource.prlimit(self.pid, getattr(resource, name), (soft, hard))

    def discard(self) -> None:
        """Kill it, reap it and close its pipes."""
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        for fd in (self.stdin, self.stdout, self.stderr):
            os.close(fd)


def start(argv: list[str], env: dict[str, str], rlimits: Rlimits) -> Program:
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
    argv: list[str], env: dict[str, str], rlimits: Rlimits, streams: tuple[int, int, int]
) -> None:
    """Turn this fresh child into the program; never returns."""
    status = 126
    try:
        os.setsid()
        for number, fd in enumerate(streams):
            os.dup2(fd, number)
        # What is ignored stays so over exec: two by Python, any by whoever started the worker.
        for number in signal.valid_signals():
            if signal.getsignal(number) is signal.SIG_IGN:
                signal.signal(number, signal.SIG_DFL)
        os.chdir("/work")
        for name, (soft, hard) in rlimits.items():
            resource.setrlimit(getattr(resource, name), (soft, hard))
        os.execvpe(argv[0], argv, env)  # noqa: S606
    except FileNotFoundError:
        status = 127
        os.write(2, f"{argv[0]}: not found\n".encode(errors="replace"))
    except (OSError, ValueError) as error:
        os.write(2, f"{argv[0]}: {error}\n".encode(errors="replace"))
    finally:
        os._exit(status)


@dataclass(frozen=True)
class Waiting:
    """An interpreter that has opened its script, a FIFO, and waits for the code."""

    program: Program
    script: int
    main: Path

    def feed(self, code: bytes, rlimits: Rlimits) -> Program:
        """Give it its limits and its code; it runs from here on."""
        self.program.bound(rlimits)
        write_main(self.main, code)
        with contextlib.suppress(BrokenPipeError):  # a syntax error may end the reading early
            _write_all(self.script, code)
        os.close(self.script)
        return self.program


def wait_for_code(python: str, main: Path, env: dict[str, str]) -> Waiting:
    """Start the interpreter `python` on the script `main`, up to the point where it reads it."""
    os.mkfifo(main, 0o600)
    # A directory that was searched is searched again when its time has changed: without this, an
    # interpreter that looked into the empty /work a moment ago would not see the files laid there.
    os.utime("/work", (0, 0))
    program = start(python_command(python, main), env, {})
    return Waiting(program, os.open(main, os.O_WRONLY), main)


def write_main(main: Path, code: bytes) -> None:
    """Put the code at `main`, in place of whatever is there, and close its directory: a file that
    the code means to leave beside itself fails loudly instead of being lost.
    """
    fresh = main.with_suffix(".new")
    fresh.write_bytes(code)
    fresh.rename(main)
    main.parent.chmod(0o555)


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def plain_utf8(code: bytes) -> bool:
    """Whether an interpreter can read `code` from a pipe: another encoding makes it seek."""
    return b"coding" not in b"\n".join(code.split(b"\n", 2)[:2])


def python_command(python: str, main: Path) -> list[str]:
    """The interpreter on its script, without the script's directory on the module path."""
    return [python, "-P", str(main)]

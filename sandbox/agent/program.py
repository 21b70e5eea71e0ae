"""The program of a run: a process in a session of its own, its streams on pipes.

It is either a new one (`start`), or one that was forked ahead and waits for its orders (`Waiting`;
`interpreter.py` is what goes on in it). It runs one order either way, and ends.
"""

# ruff: noqa: PTH101, PTH120

from __future__ import annotations

import ctypes
import marshal
import os
import resource
import signal

from sandbox.agent import wire

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import NoReturn

    Rlimits = Mapping[str, tuple[int, int]]
    Fields = tuple[list[str], bytes | None, dict[str, str], dict[str, tuple[int, int]]]
    """Those of `interpreter.Orders`."""
    Streams = tuple[int, int, int]

WORK = "/work"
_TOP = __file__.removesuffix("/sandbox/agent/program.py")
_PR_SET_DUMPABLE = 4
_prctl = ctypes.PyDLL(None, use_errno=True).prctl


class Program:
    """A started process: its pid and our ends of its pipes."""

    def __init__(self, pid: int, streams: Streams) -> None:
        self.pid = pid
        self.stdin, self.stdout, self.stderr = streams
        for fd in streams:
            os.set_blocking(fd, False)


class Waiting(Program):
    """A process that was forked ahead and reads its orders from a pipe."""

    def __init__(self, pid: int, streams: Streams, orders: int) -> None:
        super().__init__(pid, streams)
        self._orders = orders

    def begin(self, orders: Fields) -> None:
        """Give it its orders; it runs from here on."""
        try:  # noqa: SIM105  (contextlib is slow to import)
            wire.write_sized(self._orders, marshal.dumps(orders))
        except BrokenPipeError:
            pass  # it is dead already: the process that waits for it learns so
        os.close(self._orders)


def start(argv: list[str], env: Mapping[str, str], rlimits: Rlimits) -> Program:
    """Start `argv` in `/work`. What cannot be executed exits with 127 or 126, as in a shell."""
    child_ends, parent_ends = pipes()
    pid = os.fork()
    if pid == 0:
        try:
            settle(child_ends)
            become(argv, env, rlimits)
        finally:
            os._exit(126)
    for fd in child_ends:
        os.close(fd)
    return Program(pid, parent_ends)


def pipes() -> tuple[Streams, Streams]:
    """Pipes for the three standard streams: the program's ends, and the agent's."""
    stdin, write = os.pipe()
    out, stdout = os.pipe()
    err, stderr = os.pipe()
    return (stdin, stdout, stderr), (write, out, err)


def settle(streams: Streams) -> None:
    """Put this fresh child into its session, its streams and its directory."""
    os.setsid()
    for number, fd in enumerate(streams):
        os.dup2(fd, number)
    os.chdir(WORK)


def set_dumpable(value: int) -> None:
    """Whether others of this process's uid may look into it."""
    if _prctl(_PR_SET_DUMPABLE, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_DUMPABLE)")


def become(argv: list[str], env: Mapping[str, str], rlimits: Rlimits) -> NoReturn:
    """Turn this process into `argv`."""
    status = 126
    try:
        # What is ignored stays so over exec: two by Python, any by the worker's parent.
        for ignored in signal.valid_signals():
            if signal.getsignal(ignored) is signal.SIG_IGN:
                signal.signal(ignored, signal.SIG_DFL)
        bound(rlimits)
        os.execvpe(argv[0], argv, env)  # noqa: S606
    except FileNotFoundError:
        status = 127
        os.write(2, f"{argv[0]}: not found\n".encode(errors="replace"))
    except (OSError, ValueError) as error:
        os.write(2, f"{argv[0]}: {error}\n".encode(errors="replace"))
    finally:
        os._exit(status)


def bound(rlimits: Rlimits) -> None:
    """Give this process its limits; or less, where the machine allows its user no more."""
    for name, pair in rlimits.items():
        which = getattr(resource, name)
        try:
            resource.setrlimit(which, pair)
        except ValueError:
            most = resource.getrlimit(which)[1]
            resource.setrlimit(which, (min(pair[0], most), min(pair[1], most)))


def python_command(python: str, main: str) -> list[str]:
    """The interpreter on its script, without the script's directory on the module path."""
    return [python, "-P", main]


def script_command(python: str, main: str) -> list[str]:
    """The same, with the working directory first on the script's module path. An environment
    variable would also put it on the paths of the programs that the script starts.
    """
    start = (
        f"import sys; sys.path.insert(0, {_TOP!r}); "
        f"from sandbox.zygote.script import main; main({main!r}, {WORK!r})"
    )
    return [python, "-P", "-c", start]


def write_main(main: str, code: bytes) -> None:
    """Put the code at `main` and close its directory: a file that the code means to leave beside
    itself fails loudly instead of being lost.
    """
    fd = os.open(main, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
    wire.write_all(fd, code)
    os.close(fd)
    os.chmod(os.path.dirname(main), 0o555)  # noqa: S103

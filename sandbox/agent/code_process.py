"""The process that runs the code: it has a session of its own, and pipes as its standard streams.

The agent either starts a new program (`start`), or uses a process that was forked earlier and waits
for one order (`WaitingProcess`; that process executes `sandbox/zygote/interpreter.py`).
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
    OrderFields = tuple[list[str], bytes | None, dict[str, str], dict[str, tuple[int, int]]]
    """The fields of `interpreter.CodeOrder`."""
    Streams = tuple[int, int, int]
    """Descriptors for standard input, output and error."""

WORK = "/work"
_AGENT_ROOT = __file__.removesuffix("/sandbox/agent/code_process.py")
_PR_SET_DUMPABLE = 4
_prctl = ctypes.PyDLL(None, use_errno=True).prctl


class CodeProcess:
    """A started process: its pid, and the agent's ends of its pipes."""

    def __init__(self, pid: int, streams: Streams) -> None:
        self.pid = pid
        self.stdin, self.stdout, self.stderr = streams
        for fd in streams:
            os.set_blocking(fd, False)


class WaitingProcess(CodeProcess):
    """A process that was forked earlier and reads its order from a pipe."""

    def __init__(self, pid: int, streams: Streams, order_pipe: int) -> None:
        super().__init__(pid, streams)
        self._order_pipe = order_pipe

    def send_order(self, order: OrderFields) -> None:
        """Send the order; the process then runs it."""
        try:  # noqa: SIM105  (contextlib is slow to import)
            wire.write_sized(self._order_pipe, marshal.dumps(order))
        except BrokenPipeError:
            pass  # the process has ended: its parent learns that by waiting for it
        os.close(self._order_pipe)


def start(argv: list[str], env: Mapping[str, str], rlimits: Rlimits) -> CodeProcess:
    """Start `argv` in `/work`. A program that cannot be executed exits with 127 or 126, as in a
    shell.
    """
    child_ends, parent_ends = make_pipes()
    pid = os.fork()
    if pid == 0:
        try:
            enter_session(child_ends)
            execute(argv, env, rlimits)
        finally:
            os._exit(126)
    for fd in child_ends:
        os.close(fd)
    return CodeProcess(pid, parent_ends)


def make_pipes() -> tuple[Streams, Streams]:
    """Make pipes for the three standard streams: the program's ends, and the agent's."""
    stdin, write = os.pipe()
    out, stdout = os.pipe()
    err, stderr = os.pipe()
    return (stdin, stdout, stderr), (write, out, err)


def enter_session(streams: Streams) -> None:
    """Give this fresh child its own session, its standard streams and its working directory."""
    os.setsid()
    for number, fd in enumerate(streams):
        os.dup2(fd, number)
    os.chdir(WORK)


def set_dumpable(value: int) -> None:
    """1: processes of the same uid may trace this process and open its files in `/proc`; 0: not."""
    if _prctl(_PR_SET_DUMPABLE, value, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_DUMPABLE)")


def execute(argv: list[str], env: Mapping[str, str], rlimits: Rlimits) -> NoReturn:
    """Execute `argv` in this process."""
    status = 126
    try:
        # An ignored signal stays ignored after exec: Python ignores two, the worker's parent any.
        for number in signal.valid_signals():
            if signal.getsignal(number) is signal.SIG_IGN:
                signal.signal(number, signal.SIG_DFL)
        set_rlimits(rlimits)
        os.execvpe(argv[0], argv, env)  # noqa: S606
    except FileNotFoundError:
        status = 127
        os.write(2, f"{argv[0]}: not found\n".encode(errors="replace"))
    except (OSError, ValueError) as error:
        os.write(2, f"{argv[0]}: {error}\n".encode(errors="replace"))
    finally:
        os._exit(status)


RESOURCES = {
    "RLIMIT_AS": resource.RLIMIT_AS,
    "RLIMIT_CORE": resource.RLIMIT_CORE,
    "RLIMIT_CPU": resource.RLIMIT_CPU,
    "RLIMIT_FSIZE": resource.RLIMIT_FSIZE,
    "RLIMIT_MEMLOCK": resource.RLIMIT_MEMLOCK,
    "RLIMIT_MSGQUEUE": resource.RLIMIT_MSGQUEUE,
    "RLIMIT_NICE": resource.RLIMIT_NICE,
    "RLIMIT_NOFILE": resource.RLIMIT_NOFILE,
    "RLIMIT_NPROC": resource.RLIMIT_NPROC,
    "RLIMIT_RTPRIO": resource.RLIMIT_RTPRIO,
    "RLIMIT_SIGPENDING": resource.RLIMIT_SIGPENDING,
}
"""The rlimits of `policy.rlimits`, by name."""


def set_rlimits(rlimits: Rlimits) -> None:
    """Set the limits of this process; lower ones if the machine allows its user less."""
    for name, (soft, hard) in rlimits.items():
        number = RESOURCES[name]
        try:
            resource.setrlimit(number, (soft, hard))
        except ValueError:
            allowed = resource.getrlimit(number)[1]
            resource.setrlimit(number, (min(soft, allowed), min(hard, allowed)))


def python_command(python: str, main: str) -> list[str]:
    """The interpreter on its script, without the script's directory on the module path."""
    return [python, "-P", main]


def script_command(python: str, main: str) -> list[str]:
    """The same, with the working directory first on the script's module path. An environment
    variable would also change the module path of the programs that the script starts.
    """
    start_code = (
        f"import sys; sys.path.insert(0, {_AGENT_ROOT!r}); "
        f"from sandbox.zygote.script import main; main({main!r}, {WORK!r})"
    )
    return [python, "-P", "-c", start_code]


def write_main(main: str, code: bytes) -> None:
    """Write the code to the path `main` and make its directory read-only. Code that tries to write
    next to its script then gets an error. Otherwise the file would be lost without an error.
    """
    fd = os.open(main, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
    wire.write_all(fd, code)
    os.close(fd)
    os.chmod(os.path.dirname(main), 0o555)  # noqa: S103

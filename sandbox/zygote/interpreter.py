"""A fork of a process that has its libraries loaded, made into what `python` would be.

`trampoline` calls a process's whole work. Somewhere inside of it `prepare` forks a code process,
which unwinds up to `trampoline`: nothing of Fettle's is left on its stack but two frames. There it
makes itself new, waits for its orders, and runs them as the interpreter would, or where that would
not be the same, executes the interpreter.

Why: docs/decisions/0028-own-interpreters-by-setting.md
"""

from __future__ import annotations

import io
import itertools
import marshal
import os
import signal
import sys
import time
import types
import warnings

from sandbox.agent import program, wire
from sandbox.agent.serve import AgentContext
from sandbox.zygote import shutdown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_TOP = __file__.removesuffix("/sandbox/zygote/interpreter.py")
_DESCRIPTORS = 1024
"""A sandbox has a dozen, of the lowest numbers, and the limit of its zygote may be a million: on a
kernel without close_range each number up to it is closed by itself."""


class ForkedChild(BaseException):
    """Raised by `prepare` in the code process; `trampoline` alone catches it."""

    def __init__(self, channel: int, context: AgentContext) -> None:
        super().__init__()
        self.channel, self.context = channel, context


class Orders:
    """The program that the agent orders the code process to run. `words` and `env` describe it
    completely. `code` is set if the program is the interpreter with a script, and this process may
    run the script itself.
    """

    words: list[str]
    code: bytes | None
    env: dict[str, str]
    rlimits: dict[str, tuple[int, int]]

    def __init__(self, channel: int) -> None:
        fields = marshal.loads(wire.receive_sized(channel))  # noqa: S302  (of our own parent)
        self.words, self.code, self.env, self.rlimits = fields


def trampoline(main: Callable[[], None]) -> None:
    """Call `main`. A code process that is forked inside of it runs from here.

    The process must have been started as the code's interpreter would be (`python -P`, with the
    code's environment), so that flags, locale and module path are the code's.
    """
    try:
        main()
    except ForkedChild as child:
        channel, context = child.channel, child.context
    else:
        return
    shutdown.run(*_code(channel, context), program.WORK)


def prepare(context: AgentContext) -> program.Waiting:
    """Fork a code process that waits for its orders. In that process it raises ForkedChild."""
    child_ends, parent_ends = program.pipes()
    receiving, sending = os.pipe()
    pid = os.fork()
    if pid == 0:
        program.settle(child_ends)
        raise ForkedChild(receiving, context)
    for fd in (*child_ends, receiving):
        os.close(fd)
    return program.Waiting(pid, parent_ends, sending)


def _code(channel: int, context: AgentContext) -> tuple[types.CodeType, frozenset[str]]:
    """Make this process like a new interpreter and wait for the orders. Returns the arguments of
    `shutdown.run`, or executes another program.
    """
    try:
        _let_go(channel)
        loaded = _adopt(context)
        _reseed()
        orders = Orders(channel)
        os.close(channel)
        code = None if orders.code is None else _compiled(orders.code, context.main)
        if code is None:
            program.become(orders.words, orders.env, orders.rlimits)
        program.bound(orders.rlimits)
    except EOFError:  # the sandbox ends without an order
        os._exit(0)
    return code, loaded


def _let_go(channel: int) -> None:
    """Drop what belongs to the processes above: descriptors, signal handlers, invisibility."""
    os.closerange(3, channel)
    os.closerange(channel + 1, min(os.sysconf("SC_OPEN_MAX"), _DESCRIPTORS))
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals():
        if signal.getsignal(number) not in {signal.SIG_DFL, None}:
            signal.signal(number, signal.SIG_DFL)
    # What the interpreter sets at its start.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(ignored, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    program.set_dumpable(1)


def _adopt(context: AgentContext) -> frozenset[str]:
    """Set the environment, module path, streams and arguments of the code, and hide the modules of
    this package; returns the names of the modules that are loaded before the code.
    """
    names = [name for name in sys.modules if name.partition(".")[0] == "sandbox"]
    _KEPT.extend(sys.modules.pop(name) for name in names)
    if dict(os.environ) != dict(context.env):
        os.environ.clear()
        os.environ.update(context.env)
    sys.path[:] = [program.WORK, *(entry for entry in sys.path if entry != _TOP)]
    for path in [path for path in sys.path_importer_cache if path.startswith(program.WORK)]:
        del sys.path_importer_cache[path]  # read before the directory had files
    for fd, name in enumerate(("stdin", "stdout", "stderr")):
        stream = _stream(fd, name)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    sys.argv = [context.main]
    sys.orig_argv = program.python_command(context.python, context.main)
    main = shutdown.main_module(context.main)
    _KEPT.append(sys.modules.pop("__main__"))
    loaded = frozenset(sys.modules)
    sys.modules["__main__"] = main
    return loaded


_KEPT: list[types.ModuleType] = []
"""Modules that the code cannot see, and that still run this process."""


def _stream(fd: int, name: str) -> io.TextIOWrapper:
    """A standard stream as the interpreter makes it (create_stdio in Python/pylifecycle.c)."""
    unbuffered = "PYTHONUNBUFFERED" in os.environ
    mode = "w" if fd else "r"
    old = getattr(sys, f"__{name}__")
    binary: Any = open(fd, f"{mode}b", 0 if unbuffered and fd else -1, closefd=False)  # noqa: SIM115
    raw = binary if unbuffered and fd else binary.raw
    raw.name = f"<{name}>"
    stream = io.TextIOWrapper(
        binary,
        encoding=old.encoding,
        errors=old.errors,
        newline="\n" if fd else None,
        line_buffering=fd == 2 and not unbuffered,
        write_through=unbuffered,
    )
    stream.mode = mode  # type: ignore[misc]
    return stream


def _compiled(code: bytes, main: str) -> types.CodeType | None:
    """The compiled code; None for code with an error or a warning, because Python describes it best
    when it reads the code from its file.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error", SyntaxWarning)
        try:
            return compile(code, main, "exec", dont_inherit=True)
        except Exception:  # noqa: BLE001
            return None


def _reseed() -> None:
    """Make anew what a library makes once for each process, and two forks must not share.

    `random`, `tempfile`, `uuid`, `secrets` and OpenSSL do it themselves when a process forks.
    """
    there: Callable[[str], Any] = sys.modules.get
    if numpy_random := there("numpy.random"):
        numpy_random.seed()
    if process := there("multiprocessing.process"):
        process.current_process().authkey = os.urandom(32)
    if tempfile := there("tempfile"):
        tempfile.tempdir = None
    if threading := there("threading"):  # of names: a library may have made a thread object
        threading._counter = itertools.count(1).__next__  # noqa: SLF001
    if logging := there("logging"):  # records have their distance from it; from 3.13 in ns
        whole = isinstance(logging._startTime, int)  # noqa: SLF001
        logging._startTime = time.time_ns() if whole else time.time()  # noqa: SLF001

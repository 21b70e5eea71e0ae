"""Runs the code of a sandbox in a fork that already has its libraries loaded.

`start` is the bottom of the stack of a sandbox's first process. It forks the code process there, so
that the code runs almost directly on the stack's bottom, as in a new interpreter. The code process
restores the state of a new interpreter and waits for its order. Then it runs the code itself, or
executes another program if the code could notice a difference.

See ADR 28.
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

from sandbox.agent import code_process, wire
from sandbox.agent.serve import AgentContext
from sandbox.zygote import script

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

    ServeOrder = Callable[[code_process.WaitingProcess], None]
    PrepareAgent = Callable[[], tuple[AgentContext, ServeOrder]]

_AGENT_ROOT = __file__.removesuffix("/sandbox/zygote/interpreter.py")
_MAX_DESCRIPTORS = 1024
"""A sandbox has a dozen descriptors with low numbers, but its zygote's limit may be a million. A
kernel without close_range closes each number up to the limit in turn."""


class CodeOrder:
    """The program that the agent orders the code process to run. `words` and `env` describe it
    completely. `code` is set if the program is the interpreter with a script, and this process may
    run the script itself.
    """

    words: list[str]
    code: bytes | None
    env: dict[str, str]
    rlimits: dict[str, tuple[int, int]]

    def __init__(self, order_pipe: int) -> None:
        fields = marshal.loads(wire.receive_sized(order_pipe))  # noqa: S302  (from the parent)
        self.words, self.code, self.env, self.rlimits = fields


def start(prepare_agent: PrepareAgent) -> NoReturn:
    """Prepare the agent, fork the code process, and let the agent serve its order.

    `prepare_agent` returns the agent's context and a function that serves one order with the
    waiting code process. This process must have been started as the code's interpreter would be
    (`python -P`, with the code's environment), so that flags, locale and module path are the
    code's.
    """
    context, serve_order = prepare_agent()
    child_ends, parent_ends = code_process.make_pipes()
    order_read_end, order_write_end = os.pipe()
    pid = os.fork()
    if pid != 0:
        for fd in (*child_ends, order_read_end):
            os.close(fd)
        serve_order(code_process.WaitingProcess(pid, parent_ends, order_write_end))
        os._exit(0)
    code_process.enter_session(child_ends)
    code, loaded = _wait_for_code(order_read_end, context)
    script.run(code, loaded, code_process.WORK)


def _wait_for_code(order_pipe: int, context: AgentContext) -> tuple[types.CodeType, frozenset[str]]:
    """Make this process like a new interpreter and wait for the order. Returns the arguments of
    `script.run`, or executes another program.
    """
    try:
        _drop_inherited_state(order_pipe)
        loaded = _set_interpreter_state(context)
        _reseed()
        order = CodeOrder(order_pipe)
        os.close(order_pipe)
        code = None if order.code is None else _compile(order.code, context.main)
        if code is None:
            code_process.execute(order.words, order.env, order.rlimits)
        code_process.set_rlimits(order.rlimits)
    except EOFError:  # the sandbox ends without an order
        os._exit(0)
    return code, loaded


def _drop_inherited_state(order_pipe: int) -> None:
    """Drop the descriptors and signal handlers of the parent, and make this process dumpable."""
    os.closerange(3, order_pipe)
    os.closerange(order_pipe + 1, min(os.sysconf("SC_OPEN_MAX"), _MAX_DESCRIPTORS))
    signal.set_wakeup_fd(-1)
    for number in signal.valid_signals():
        if signal.getsignal(number) not in {signal.SIG_DFL, None}:
            signal.signal(number, signal.SIG_DFL)
    # The interpreter sets these at its start.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    code_process.set_dumpable(1)


def _set_interpreter_state(context: AgentContext) -> frozenset[str]:
    """Set the environment, module path, streams and arguments of the code, and hide the modules of
    this package. Returns the names of the modules that are loaded before the code.
    """
    if dict(os.environ) != dict(context.env):
        os.environ.clear()
        os.environ.update(context.env)
    sys.path[:] = [code_process.WORK, *(entry for entry in sys.path if entry != _AGENT_ROOT)]
    for path in [path for path in sys.path_importer_cache if path.startswith(code_process.WORK)]:
        del sys.path_importer_cache[path]  # read before the directory had files
    sys.stdin = sys.__stdin__ = _open_stream(0, sys.__stdin__)  # type: ignore[misc]
    sys.stdout = sys.__stdout__ = _open_stream(1, sys.__stdout__)  # type: ignore[misc]
    sys.stderr = sys.__stderr__ = _open_stream(2, sys.__stderr__)  # type: ignore[misc]
    sys.argv = [context.main]
    sys.orig_argv = code_process.python_command(context.python, context.main)
    return script.replace_main(context.main)


def _open_stream(fd: int, inherited: Any) -> io.TextIOWrapper:
    """Open a standard stream as the interpreter does (create_stdio in Python/pylifecycle.c), with
    the encoding of the `inherited` one."""
    unbuffered = "PYTHONUNBUFFERED" in os.environ
    mode = "w" if fd else "r"
    binary: Any = open(fd, f"{mode}b", 0 if unbuffered and fd else -1, closefd=False)  # noqa: SIM115
    raw = binary if unbuffered and fd else binary.raw
    raw.name = f"<{('stdin', 'stdout', 'stderr')[fd]}>"
    stream = io.TextIOWrapper(
        binary,
        encoding=inherited.encoding,
        errors=inherited.errors,
        newline="\n" if fd else None,
        line_buffering=fd == 2 and not unbuffered,
        write_through=unbuffered,
    )
    stream.mode = mode  # type: ignore[misc]
    return stream


def _compile(code: bytes, main: str) -> types.CodeType | None:
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
    """Renew the values that a library makes once for each process, and that two forks must not
    share. `random`, `tempfile`, `uuid`, `secrets` and OpenSSL renew theirs when a process forks.
    """
    loaded_module: Callable[[str], Any] = sys.modules.get
    if numpy_random := loaded_module("numpy.random"):
        numpy_random.seed()
    if process := loaded_module("multiprocessing.process"):
        process.current_process().authkey = os.urandom(32)
    if tempfile := loaded_module("tempfile"):
        tempfile.tempdir = None
    if threading := loaded_module("threading"):  # thread names: a library may have counted one
        threading._counter = itertools.count(1).__next__  # noqa: SLF001
    if logging := loaded_module("logging"):  # records contain the time since this; ns from 3.13
        is_in_nanoseconds = isinstance(logging._startTime, int)  # noqa: SLF001
        logging._startTime = time.time_ns() if is_in_nanoseconds else time.time()  # noqa: SLF001

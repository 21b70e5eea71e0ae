"""A fork of a process that has its libraries loaded, made into what `python` would be.

`stage` calls a process's whole work. Somewhere inside of it `prepare` forks a code process, which
unwinds up to `stage`: nothing of ours is left on its stack but two frames, and what stood in the
others (sockets, other rooms) is let go of. There it makes itself new, waits for its orders, and
runs them as the interpreter would, or where that would not be the same, executes the interpreter.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]
import importlib.machinery
import io
import marshal
import os
import sys
import types
import warnings

from sandbox.room import ending, figures, fresh, program, wire
from sandbox.room.agent import Given

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_TOP = __file__.removesuffix("/sandbox/room/interpreter.py")
_HANDLERS = {
    _signal.SIGINT: _signal.default_int_handler,
    _signal.SIGPIPE: _signal.SIG_IGN,
    _signal.SIGXFSZ: _signal.SIG_IGN,
}
"""What the interpreter sets at its start."""
_STREAMS = ("stdin", "stdout", "stderr")
_AT_START = frozenset({"sitecustomize", "usercustomize"})
"""What an interpreter imports when it starts, if it is there: a fork is past that."""
_DESCRIPTORS = 1024
"""A room has a dozen, of the lowest numbers, and the limit of its nursery may be a million: on a
kernel without close_range each number up to it is closed by itself."""


class Known:
    """What is the same for all forks, made once in the process that they are forked from, when
    everything is loaded: it takes on their `__main__` and surroundings, and puts our own modules
    out of sight. From here on nothing may be imported.

    A fork that did it would write to each name and each module that it looks at, if only to their
    count of references; and a page that is written to is copied. Those pages are most of what a
    fork costs.
    """

    def __init__(self, given: Given) -> None:
        self.given = given
        ours = [name for name in sys.modules if name.partition(".")[0] == "sandbox"]
        self.loaded = frozenset(sys.modules).difference(ours, ["__main__"])
        if dict(os.environ) != dict(given.env):
            os.environ.clear()
            os.environ.update(given.env)
        sys.path[:] = [place for place in sys.path if place != _TOP]
        for place in [place for place in sys.path_importer_cache if place.startswith("/work")]:
            del sys.path_importer_cache[place]  # it was looked into before there was anything
        for name, stream in zip(_STREAMS, _streams(), strict=True):
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)
        sys.argv = [given.main]
        sys.orig_argv = program.python_command(given.python, given.main)
        self.kept: list[object] = [sys.modules.pop(name) for name in ours]
        """What is to stay, out of sight: to free it would write to all that it holds. The finders
        of modules would be freed at a program's end, each with what it knows of a directory.
        """
        self.kept += sys.path_importer_cache.values()
        self.renew()
        self.threads = fresh.Threads()
        # `warnings.catch_warnings` would put one in front in each fork, in fifteen calls.
        self.strict: Any = [("error", None, SyntaxWarning, None, 0), *warnings.filters]
        self.signals = _signals()
        self.descriptors = min(os.sysconf("SC_OPEN_MAX"), _DESCRIPTORS)

    def renew(self) -> None:
        """A new `__main__`, the last of all modules: `ending` looks no further than that. To be
        called again after `gc.freeze`, for what is frozen is not let go of.
        """
        main = _main(self.given)
        self.kept.append(sys.modules.pop("__main__"))
        sys.modules["__main__"] = main


class Begin(BaseException):
    """Raised by `prepare` in the code process; it must reach `stage`. Nobody else catches it."""

    def __init__(self, orders: int, known: Known) -> None:
        super().__init__()
        self.orders, self.known = orders, known


class Orders:
    """What the code process is told (`agent._start` tells it). `words` say it in full; `code` is
    there where they are the interpreter and its script. From one copy of a process to another one:
    so they need no text of their own, which would take a page here and there to be read.
    """

    words: list[str]
    code: bytes | None
    seed: str | None
    rlimits: dict[str, tuple[int, int]]
    modules: set[str]

    def __init__(self, channel: int) -> None:
        told = marshal.loads(wire.receive_sized(channel))  # noqa: S302  (of our own parent)
        self.words, self.code, self.seed, self.rlimits, self.modules, rest = told
        self.rest = figures.Rest(*rest)


def stage(main: Callable[[], None]) -> None:
    """Call `main`, and be the place where a code process that is forked inside of it runs.

    The process must have been started as the code's interpreter would be (`python -P`, with the
    code's environment), so that flags, locale and module path are the code's.
    """
    try:
        main()
    except Begin as begin:
        orders, known = begin.orders, begin.known
    else:
        return
    ending.run(*_code(orders, known))


def practise(known: Known) -> None:
    """Do in this process what every fork of it will do: read its orders, compile, and end."""
    receiving, sending = os.pipe()
    words = [known.given.python]
    orders: program.Told = (words, b"0", None, {"RLIMIT_CORE": (1, 1)}, set(), (1.0, 1.0))
    wire.write_sized(sending, marshal.dumps(orders))
    code = _compiled(Orders(receiving), known)
    ending.practise(code, known.loaded)
    os.close(receiving)
    os.close(sending)


def prepare(given: Given | Known) -> program.Waiting:
    """Fork a code process that waits for its orders. In that process it raises Begin."""
    known = given if isinstance(given, Known) else Known(given)
    theirs, ours = program.pipes()
    receiving, sending = os.pipe()
    pid = os.fork()
    if pid == 0:
        program.settle(theirs)
        raise Begin(receiving, known)
    for fd in (*theirs, receiving):
        os.close(fd)
    return program.Waiting(pid, ours, sending)


def _code(channel: int, known: Known) -> tuple[types.CodeType | str, frozenset[str], figures.Rest]:
    """Make this process new, wait for the orders, and return what `ending.run` wants to know, or
    become another program.
    """
    given, loaded = known.given, known.loaded
    try:
        _let_go(channel, known)
        known.threads.wake()
        fresh.start()
        orders = Orders(channel)
        os.close(channel)
        code = _compiled(orders, known) or _module(orders, given, loaded)
        if code is None:
            env = dict(given.env) | ({"PYTHONHASHSEED": orders.seed} if orders.seed else {})
            program.become(orders.words, env, orders.rlimits)
        program.bound(orders.rlimits)
    except EOFError:  # the room ends without an order
        os._exit(0)
    return code, loaded, orders.rest


def _signals() -> list[tuple[int, object]]:
    """What is to be done on which signals, where it is not what is done here."""
    # Of numbers: `signal`'s own functions make an enumeration's member of each.
    wanted = ((each, _HANDLERS.get(each, _signal.SIG_DFL)) for each in range(1, _signal.NSIG))
    return [pair for pair in wanted if _signal.getsignal(pair[0]) not in {pair[1], None}]


def _let_go(channel: int, known: Known) -> None:
    """Drop what belongs to the processes above: descriptors, signal handlers, invisibility."""
    os.closerange(3, channel)
    os.closerange(channel + 1, known.descriptors)
    _signal.set_wakeup_fd(-1)
    for number, wanted in known.signals:
        _signal.signal(number, wanted)
    _signal.pthread_sigmask(_signal.SIG_SETMASK, ())
    program.set_dumpable(1)


def _streams() -> tuple[io.TextIOWrapper, ...]:
    """New text streams on descriptors 0 to 2, like those that the interpreter makes at its start
    where these are pipes: so for a moment they are. A stream asks once what it is on.
    """
    pipe, places = os.pipe(), (0, 1, 2)
    before = [os.dup(place) for place in places]
    for place in places:
        os.dup2(pipe[place > 0], place)
    streams = tuple(_stream(place) for place in places)
    for place in places:
        os.dup2(before[place], place)
    for fd in (*before, *pipe):
        os.close(fd)
    return streams


def _stream(fd: int) -> io.TextIOWrapper:
    """One of them (create_stdio in Python/pylifecycle.c)."""
    unbuffered = "PYTHONUNBUFFERED" in os.environ
    name, mode = _STREAMS[fd], "w" if fd else "r"
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


def _main(given: Given) -> types.ModuleType:
    """A new `__main__`, for code that lies where `given` says."""
    main, old = types.ModuleType("__main__"), sys.modules["__main__"]
    for name in ("__annotations__", "__builtins__"):
        if name in vars(old):
            setattr(main, name, {} if name == "__annotations__" else vars(old)[name])
    main.__file__ = given.main
    main.__cached__ = None  # type: ignore[attr-defined]
    main.__loader__ = importlib.machinery.SourceFileLoader("__main__", given.main)
    return main


def _compiled(orders: Orders, known: Known) -> types.CodeType | None:
    """The code; None where only the interpreter itself does the same as the interpreter.

    That is for another program; for a hash seed; for a module of the workspace that would have
    come before one that is loaded; and for code that Python has a word to say about: reading it
    from its file, it says it best.
    """
    if orders.code is None or _needs_its_own(orders, known.loaded):
        return None
    lenient, warnings.filters = warnings.filters, known.strict
    try:
        return compile(orders.code, known.given.main, "exec", dont_inherit=True)
    except Exception:  # noqa: BLE001
        return None
    finally:
        warnings.filters = lenient


def _module(orders: Orders, given: Given, loaded: frozenset[str]) -> str | None:
    """The module of `python -m MODULE ...`, where one is asked for and this process can run it."""
    if orders.words[:2] != [given.python, "-m"] or _needs_its_own(orders, loaded):
        return None
    if len(orders.words) < 3 or orders.words[2].startswith("-"):
        return None
    sys.orig_argv = orders.words
    sys.argv = ["-m", *orders.words[3:]]
    sys.path.insert(0, program.WORK)
    main = sys.modules["__main__"]
    main.__loader__ = importlib.machinery.BuiltinImporter
    del main.__file__, main.__cached__
    return orders.words[2]


def _needs_its_own(orders: Orders, loaded: frozenset[str]) -> bool:
    """Whether the orders are for an interpreter that has not begun."""
    known = loaded, _AT_START
    return orders.seed is not None or not all(map(orders.modules.isdisjoint, known))

"""Running a program's code, and ending the process as the interpreter would.

The interpreter's own way out takes all that is loaded apart, which costs more than most programs.
So what a program can see of that is done here (Python/pylifecycle.c, Python/pythonrun.c of
CPython), in its order; what is loaded for everyone is left standing, and the process exits.
"""

from __future__ import annotations

import atexit
import gc
import io
import itertools
import os
import runpy
import signal
import sys
import types
import weakref

from sandbox.room import figures

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

_UNFLUSHED = 120
_INTERRUPTED = -1
_GONE_FIRST = (
    *("path", "argv", "ps1", "ps2", "last_exc", "last_type", "last_value", "last_traceback"),
    *("path_hooks", "path_importer_cache", "meta_path", "__interactivehook__"),
)
"""Names of `sys` that become None before modules are taken apart, where they are set."""


def run(code: types.CodeType | str, loaded: frozenset[str], rest: figures.Rest) -> NoReturn:
    """Run `code`, or the module of that name, as `__main__`, and end the process. `loaded` names
    the modules that stay; `rest` is what its figures may take when it has ended.
    """
    failure: BaseException | None = None
    own = os.getpid()
    try:
        if isinstance(code, str):
            runpy._run_module_as_main(code)  # type: ignore[attr-defined]  # noqa: SLF001
        else:
            exec(code, sys.modules["__main__"].__dict__)  # noqa: S102
    except BaseException as error:  # noqa: BLE001
        failure = error
    status = 0 if failure is None else _uncaught(failure)
    failure = None  # it holds the program's frames
    is_own = os.getpid() == own and not isinstance(code, str)  # not a copy's, nor a test runner's
    _end(status, loaded, rest if is_own else None)


def practise(code: types.CodeType | None, loaded: frozenset[str]) -> None:
    """Those parts of an end that leave a process as it was."""
    exec(code or "", {})  # noqa: S102
    for name in _GONE_FIRST:
        if hasattr(sys, name):
            setattr(sys, name, getattr(sys, name))
    _flush()
    there = [weakref.ref(sys.modules[name]) for name in _own(loaded)]
    gc.collect()
    _clear(dict.fromkeys(("_private", "public"), there))
    _flush_files()


def _uncaught(error: BaseException) -> int:
    """Tell of an exception that ended the program; returns the exit status."""
    if isinstance(error, SystemExit):
        return _exit_status(error)
    trace = error.__traceback__.tb_next if error.__traceback__ else None  # without our own frame
    error = error.with_traceback(trace)
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, trace
    if sys.version_info >= (3, 12):
        sys.last_exc = error
    hook = getattr(sys, "excepthook", None)
    if hook is None:
        _write("sys.excepthook is missing\n")
        hook = sys.__excepthook__
    try:
        hook(type(error), error, trace)
    except SystemExit as end:
        return _exit_status(end)
    except BaseException as second:  # noqa: BLE001
        _write("Error in sys.excepthook:\n")
        second_trace = second.__traceback__.tb_next if second.__traceback__ else None
        sys.__excepthook__(type(second), second.with_traceback(second_trace), second_trace)
        _write("\nOriginal exception was:\n")
        sys.__excepthook__(type(error), error, trace)
    return _INTERRUPTED if type(error) is KeyboardInterrupt else 1


def _exit_status(end: SystemExit) -> int:
    """The exit status that a SystemExit asks for; what is no number is printed, and means 1."""
    code: Any = end.code
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF if -(1 << 63) <= code < 1 << 63 else 0xFF
    _write(f"{code}\n")
    return 1


def _write(text: str) -> None:
    """Write to standard error what can be written."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except Exception:  # noqa: BLE001, S110
        pass


def _end(status: int, loaded: frozenset[str], rest: figures.Rest | None) -> NoReturn:
    """Wait for threads, save figures where there is a `rest` for it, call what was registered, let
    go of the program's objects, and exit.
    """
    threading = sys.modules.get("threading")
    try:
        if threading is not None:
            threading._shutdown()  # noqa: SLF001
    except BaseException as error:  # noqa: BLE001
        _unraisable(error, threading, "threading shutdown")
    if rest is not None and status == 0:
        figures.save(rest)  # pyplot registers that they be closed
    atexit._run_exitfuncs()  # noqa: SLF001
    flushed = _flush()
    sys.setswitchinterval(3600)  # daemon threads stand still from here on
    _take_apart(loaded)
    if not (_flush() and flushed):
        status = _UNFLUSHED if status != _INTERRUPTED else status
    if status == _INTERRUPTED:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    os._exit(status)


def _flush() -> bool:
    """Flush both outputs; whether that went well."""
    well = True
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name, None)
        try:
            if stream is not None and not getattr(stream, "closed", False):
                stream.flush()
        except BaseException as error:  # noqa: BLE001
            well = False
            if name == "stdout":
                _unraisable(error, stream, "flushing sys.stdout")
    return well


def _unraisable(error: BaseException, where: object, doing: str) -> None:
    """Tell of an error that nobody can catch; from 3.13 by what was done, before by the object."""
    trace = error.__traceback__.tb_next if error.__traceback__ else None
    place = (None, where) if sys.version_info < (3, 13) else (f"Exception ignored on {doing}", None)
    told: Any = _unraisable_arguments()
    sys.unraisablehook(told((type(error), error.with_traceback(trace), trace, *place)))


def _unraisable_arguments() -> object:
    """The type of what `sys.unraisablehook` is called with, which no module offers."""

    class Fails:
        def __del__(self) -> None:
            raise ValueError

    seen: list[object] = []
    hook, sys.unraisablehook = sys.unraisablehook, seen.append
    Fails()
    sys.unraisablehook = hook
    return type(seen[0])


def _take_apart(loaded: frozenset[str]) -> None:
    """Let go of `__main__` and of every module that the program loaded, and of what they hold."""
    if gc.isenabled():
        gc.collect()
    for name in _GONE_FIRST:
        if hasattr(sys, name):
            setattr(sys, name, None)
    sys.stdin, sys.stdout, sys.stderr = sys.__stdin__, sys.__stdout__, sys.__stderr__
    own = _own(loaded)
    there = [weakref.ref(sys.modules[name]) for name in own if _is_module(sys.modules[name])]
    for name in (*own, "io"):  # without io a finalizer's traceback shows no lines, as it would not
        sys.modules[name] = None  # type: ignore[assignment]
    gc.collect()
    for reference in reversed(there):
        left = reference()
        if left is not None:
            _clear(vars(left))
    gc.collect()
    _flush_files()


def _own(loaded: frozenset[str]) -> list[str]:
    """Names of the program's modules. All of them came after `__main__`, which was put there last;
    so the many before it need not be looked at. Where it was taken away, they are.
    """
    names = itertools.takewhile(lambda name: name != "__main__", reversed(sys.modules))
    own = [name for name in names if name not in loaded]
    own += ["__main__"] if "__main__" in sys.modules else []
    return own[::-1]


def _is_module(value: object) -> bool:
    return isinstance(value, types.ModuleType)


def _clear(names: dict[str, Any]) -> None:
    """Set a module's names to None, private ones first (Objects/moduleobject.c)."""
    for private in (True, False):
        for name in list(names):
            if (name[:1] == "_" and name[1:2] != "_") == private and name != "__builtins__":
                names[name] = None


def _flush_files() -> None:
    """Files that something loaded for everyone still holds, which would have been closed now."""
    for kind in (io.TextIOWrapper, io.BufferedWriter, io.BufferedRandom):
        for file in [each for each in gc.get_objects() if issubclass(type(each), kind)]:
            try:  # noqa: SIM105
                file.flush()
            except Exception:  # noqa: BLE001, S110
                pass

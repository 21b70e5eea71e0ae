"""Running a program's code in a fork, and ending the process without taking the libraries apart.

The interpreter's own way out frees every module that was loaded, which takes 90 ms with numpy and
pandas. What a program relies on is done here as the interpreter does it: an uncaught exception is
shown, threads are waited for, exit functions are called, finalizers run and files are flushed.
`multiprocessing` ends its forks in the same way (`popen_fork.Popen._launch`).
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` is slow to import
import atexit
import gc
import importlib.machinery
import io
import os
import sys
import types
import weakref

from sandbox.zygote import charts, plot_capture

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

_FLUSH_FAILED = 120
_INTERRUPTED = -1


def main_module(path: str) -> types.ModuleType:
    """A new `__main__` for the code at `path`."""
    main, old = types.ModuleType("__main__"), sys.modules["__main__"]
    for name in ("__annotations__", "__builtins__"):
        if name in vars(old):
            setattr(main, name, {} if name == "__annotations__" else vars(old)[name])
    main.__file__ = path
    main.__cached__ = None  # type: ignore[attr-defined]
    main.__loader__ = importlib.machinery.SourceFileLoader("__main__", path)
    return main


def run(code: types.CodeType, loaded: frozenset[str], work: str) -> NoReturn:
    """Run `code` as `__main__`, and end the process. `loaded` names the modules that were there
    before the program, `work` is the directory of the program's own modules.
    """
    pid = os.getpid()
    charts.install()
    status = _execute(code)
    threading: Any = sys.modules.get("threading")
    try:
        if threading is not None:
            threading._shutdown()  # noqa: SLF001
    except BaseException:  # noqa: BLE001
        _show("Exception ignored on threading shutdown\n")
    # Before pyplot's own exit function, which closes all figures; not in a fork of the program.
    if status == 0 and os.getpid() == pid:
        plot_capture.save(work)
    atexit._run_exitfuncs()  # noqa: SLF001
    flushed = _flush()
    _flush_files()
    sys.setswitchinterval(3600)  # daemon threads stand still from here on
    _release(loaded, work)
    if not (_flush() and flushed) and status != _INTERRUPTED:
        status = _FLUSH_FAILED
    if status == _INTERRUPTED:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
        os.kill(os.getpid(), _signal.SIGINT)
    os._exit(status)


def _execute(code: types.CodeType) -> int:
    """Returns the exit status; `_INTERRUPTED` where the process is to end by SIGINT."""
    failure: BaseException
    try:
        exec(code, sys.modules["__main__"].__dict__)  # noqa: S102
    except SystemExit as end:
        return _exit_status(end)
    except BaseException as error:  # noqa: BLE001
        failure = error
    else:
        return 0
    return _uncaught(failure)  # out here it is nobody's context


def _uncaught(error: BaseException) -> int:
    """Show an exception that ended the program; returns the exit status."""
    trace = error.__traceback__.tb_next if error.__traceback__ else None  # without our own frame
    error = error.with_traceback(trace)
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, trace
    if sys.version_info >= (3, 12):
        sys.last_exc = error
    try:
        getattr(sys, "excepthook", sys.__excepthook__)(type(error), error, trace)
    except SystemExit as end:
        return _exit_status(end)
    except BaseException as second:  # noqa: BLE001
        _show("Error in sys.excepthook:\n")
        second_trace = second.__traceback__.tb_next if second.__traceback__ else None
        sys.__excepthook__(type(second), second.with_traceback(second_trace), second_trace)
        _show("\nOriginal exception was:\n")
        sys.__excepthook__(type(error), error, trace)
    finally:
        # They hold the program's frames, and so its objects.
        sys.last_value = sys.last_traceback = None
        if sys.version_info >= (3, 12):
            sys.last_exc = None  # type: ignore[assignment]
    return _INTERRUPTED if type(error) is KeyboardInterrupt else 1


def _exit_status(end: SystemExit) -> int:
    """The exit status that a SystemExit asks for; what is no number is printed, and means 1."""
    code: Any = end.code
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF if -(1 << 63) <= code < 1 << 63 else 0xFF
    _show(f"{code}\n")
    return 1


def _show(text: str) -> None:
    """Write to standard error what can be written."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except Exception:  # noqa: BLE001, S110
        pass


def _flush() -> bool:
    """Flush both outputs; returns whether that went well."""
    well = True
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None and not getattr(stream, "closed", False):
                stream.flush()
        except BaseException:  # noqa: BLE001
            well = False
    return well


def _flush_files() -> None:
    """Write what the program has not, of files that it never closed."""
    for kind in (io.TextIOWrapper, io.BufferedWriter, io.BufferedRandom):
        for file in [each for each in gc.get_objects() if issubclass(type(each), kind)]:
            try:  # noqa: SIM105  (contextlib is slow to import)
                file.flush()
            except Exception:  # noqa: BLE001, S110
                pass


def _release(loaded: frozenset[str], work: str) -> None:
    """Let go of `__main__` and of the modules that the program has of its own: finalizers run.

    Those of libraries stay whole, since their callbacks may be called by what goes now.
    """
    new = sys.modules.keys() - loaded  # by name: to look at a module of the zygote copies its page
    names = [name for name in sys.modules if name in new and _own(sys.modules[name], work)]
    modules = [weakref.ref(sys.modules.pop(name)) for name in names]
    gc.collect()
    for reference in reversed(modules):
        module = reference()
        if module is not None:
            vars(module).clear()
    gc.collect()


def _own(module: object, work: str) -> bool:
    """Whether a module is the program, or is inside the program's directory."""
    if not isinstance(module, type(sys)):
        return False
    file = getattr(module, "__file__", None)
    inside = isinstance(file, str) and file.startswith(f"{work}/")
    return inside or module.__name__ == "__main__"

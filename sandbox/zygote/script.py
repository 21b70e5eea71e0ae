"""Runs a script as `__main__`, and ends the process without freeing the libraries.

The interpreter's own shutdown frees every loaded module, which takes 90 ms with numpy and pandas.
`run` does the parts that programs rely on as the interpreter does them: it prints an uncaught
exception, waits for threads, calls exit functions, runs finalizers and flushes files.
`multiprocessing` ends its forks in the same way (`popen_fork.Popen._launch`).

`main` is the entry of a new interpreter (`code_process.script_command`): it runs a script outside
of the working directory with the working directory first on the module path. That is like
`python -c`, but tracebacks can show the lines of a file.
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
import warnings
import weakref

from sandbox.zygote import charts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

_AGENT_ROOT = __file__.removesuffix("/sandbox/zygote/script.py")
_HIDDEN_MODULES: list[types.ModuleType] = []
"""Modules that the script cannot see, and that still run this process."""
_FLUSH_FAILED = 120
_INTERRUPTED = -1


def main(path: str, work: str) -> NoReturn:
    """Run the script at `path` in the working directory `work`. If the script cannot be compiled,
    the interpreter itself reports the error. (Each import of this module delays every script.)
    """
    words = [sys.executable, "-P", path]
    with open(path, "rb") as file, warnings.catch_warnings(record=True) as caught:  # noqa: PTH123
        try:
            code = compile(file.read(), path, "exec", dont_inherit=True)
        except Exception:  # noqa: BLE001
            os.execv(words[0], words)  # noqa: S606
    sys.path[:] = [work, *(entry for entry in sys.path if entry != _AGENT_ROOT)]
    sys.argv, sys.orig_argv = [path], words
    loaded = replace_main(path)
    for warning in caught:
        warnings.showwarning(warning.message, warning.category, warning.filename, warning.lineno)
    run(code, loaded, work)


def replace_main(path: str) -> frozenset[str]:
    """Hide the modules of this package, and add a new `__main__` for the script at `path`. Returns
    the names of the modules that are loaded before the script.
    """
    names = [name for name in sys.modules if name.partition(".")[0] == "sandbox"]
    _HIDDEN_MODULES.extend(sys.modules.pop(name) for name in names)
    new_main = _new_main_module(path)
    _HIDDEN_MODULES.append(sys.modules.pop("__main__"))
    loaded = frozenset(sys.modules)
    sys.modules["__main__"] = new_main
    return loaded


def _new_main_module(path: str) -> types.ModuleType:
    new, old = types.ModuleType("__main__"), sys.modules["__main__"]
    for name in ("__annotations__", "__builtins__"):
        if name in vars(old):
            setattr(new, name, {} if name == "__annotations__" else vars(old)[name])
    new.__file__ = path
    new.__cached__ = None  # type: ignore[attr-defined]
    new.__loader__ = importlib.machinery.SourceFileLoader("__main__", path)
    return new


def run(code: types.CodeType, loaded: frozenset[str], work: str) -> NoReturn:
    """Run `code` as `__main__`, and end the process. `loaded` names the modules that were loaded
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
        _print_error("Exception ignored on threading shutdown\n")
    # Before pyplot's own exit function, which closes all figures; not in a fork of the program.
    if status == 0 and os.getpid() == pid:
        charts.save_unsaved_figures(work)
    atexit._run_exitfuncs()  # noqa: SLF001
    is_flushed = _flush_outputs()
    _flush_files()
    sys.setswitchinterval(3600)  # daemon threads do not run from here on
    _release_program(loaded, work)
    if not (_flush_outputs() and is_flushed) and status != _INTERRUPTED:
        status = _FLUSH_FAILED
    if status == _INTERRUPTED:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
        os.kill(os.getpid(), _signal.SIGINT)
    os._exit(status)


def _execute(code: types.CodeType) -> int:
    """Execute the code. Returns the exit status; `_INTERRUPTED` if the process has to end by
    SIGINT.
    """
    failure: BaseException
    try:
        exec(code, sys.modules["__main__"].__dict__)  # noqa: S102
    except SystemExit as error:
        return _exit_status(error)
    except BaseException as error:  # noqa: BLE001
        failure = error
    else:
        return 0
    # Outside of the `except` block, so that the failure is not the context of another exception.
    return _report_uncaught(failure)


def _report_uncaught(error: BaseException) -> int:
    """Print an exception that ended the program; returns the exit status."""
    trace = error.__traceback__.tb_next if error.__traceback__ else None  # without this frame
    error = error.with_traceback(trace)
    sys.last_type, sys.last_value, sys.last_traceback = type(error), error, trace
    if sys.version_info >= (3, 12):
        sys.last_exc = error
    try:
        getattr(sys, "excepthook", sys.__excepthook__)(type(error), error, trace)
    except SystemExit as exit_error:
        return _exit_status(exit_error)
    except BaseException as second:  # noqa: BLE001
        _print_error("Error in sys.excepthook:\n")
        second_trace = second.__traceback__.tb_next if second.__traceback__ else None
        sys.__excepthook__(type(second), second.with_traceback(second_trace), second_trace)
        _print_error("\nOriginal exception was:\n")
        sys.__excepthook__(type(error), error, trace)
    finally:
        # They reference the program's frames, and so its objects.
        sys.last_value = sys.last_traceback = None
        if sys.version_info >= (3, 12):
            sys.last_exc = None  # type: ignore[assignment]
    return _INTERRUPTED if type(error) is KeyboardInterrupt else 1


def _exit_status(error: SystemExit) -> int:
    """The exit status of a SystemExit. A code that is not a number is printed, and means 1."""
    code: Any = error.code
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF if -(1 << 63) <= code < 1 << 63 else 0xFF
    _print_error(f"{code}\n")
    return 1


def _print_error(text: str) -> None:
    """Write to standard error; ignores a failure."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except Exception:  # noqa: BLE001, S110
        pass


def _flush_outputs() -> bool:
    """Flush standard output and error; returns whether both succeeded."""
    succeeded = True
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None and not getattr(stream, "closed", False):
                stream.flush()
        except BaseException:  # noqa: BLE001
            succeeded = False
    return succeeded


def _flush_files() -> None:
    """Flush the files that the program never closed."""
    for kind in (io.TextIOWrapper, io.BufferedWriter, io.BufferedRandom):
        for file in [object_ for object_ in gc.get_objects() if issubclass(type(object_), kind)]:
            try:  # noqa: SIM105  (contextlib is slow to import)
                file.flush()
            except Exception:  # noqa: BLE001, S110
                pass


def _release_program(loaded: frozenset[str], work: str) -> None:
    """Release `__main__` and the modules of the program, so that finalizers run. The modules of
    libraries stay, because finalizers may call their functions.
    """
    # Compared by name: to read a module of the zygote would copy its memory page.
    new = sys.modules.keys() - loaded
    names = [
        name for name in sys.modules if name in new and _is_of_program(sys.modules[name], work)
    ]
    modules = [weakref.ref(sys.modules.pop(name)) for name in names]
    gc.collect()
    for reference in reversed(modules):
        module = reference()
        if module is not None:
            vars(module).clear()
    gc.collect()


def _is_of_program(module: object, work: str) -> bool:
    """Whether a module is `__main__`, or is inside the program's directory."""
    if not isinstance(module, type(sys)):
        return False
    file = getattr(module, "__file__", None)
    is_inside = isinstance(file, str) and file.startswith(f"{work}/")
    return is_inside or module.__name__ == "__main__"

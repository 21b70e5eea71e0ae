"""Runs a script outside of the working directory in a new interpreter, with the working directory
first on the module path: as `python -c` does, but with a file that tracebacks can show.

`program.script_command` starts it. From the first line of the script on, the process is like a fork
of a zygote (`interpreter.py`).
"""

from __future__ import annotations

import os
import sys
import warnings

from sandbox.zygote import shutdown

TYPE_CHECKING = False
if TYPE_CHECKING:
    import types
    from typing import NoReturn

_TOP = __file__.removesuffix("/sandbox/zygote/script.py")
_KEPT: list[types.ModuleType] = []
"""Modules that the script cannot see, and that still run this process."""


def main(path: str, work: str) -> NoReturn:
    """Run the script at `path` in the working directory `work`. If the script cannot be compiled,
    the interpreter itself reports the error. (Each import of this module delays every script.)
    """
    words = [sys.executable, "-P", path]
    with open(path, "rb") as file, warnings.catch_warnings(record=True) as warned:  # noqa: PTH123
        try:
            code = compile(file.read(), path, "exec", dont_inherit=True)
        except Exception:  # noqa: BLE001
            os.execv(words[0], words)  # noqa: S606
    sys.path[:] = [work, *(entry for entry in sys.path if entry != _TOP)]
    sys.argv, sys.orig_argv = [path], words
    loaded = _replace_main(path)
    for warning in warned:
        warnings.showwarning(warning.message, warning.category, warning.filename, warning.lineno)
    shutdown.run(code, loaded, work)


def _replace_main(path: str) -> frozenset[str]:
    """Hide the modules of this package, and add a new `__main__`; returns the names of the modules
    that are loaded before the script.
    """
    names = [name for name in sys.modules if name.partition(".")[0] == "sandbox"]
    _KEPT.extend(sys.modules.pop(name) for name in names)
    main = shutdown.main_module(path)
    _KEPT.append(sys.modules.pop("__main__"))
    loaded = frozenset(sys.modules)
    sys.modules["__main__"] = main
    return loaded

"""A new interpreter on a script that lies outside of the working directory, with that directory
first on its module path: what `python -c` would be, with a file that tracebacks can show.

`program.script_command` starts it. From the program's first line on it is what a fork of a zygote
is (`interpreter.py`).
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
"""Modules that are out of sight and still run this process."""


def main(path: str, work: str) -> NoReturn:
    """Run the script at `path` in the working directory `work`. Where it cannot be compiled, the
    interpreter itself reports it. (What is imported here delays each such program.)
    """
    words = [sys.executable, "-P", path]
    with open(path, "rb") as file, warnings.catch_warnings(record=True) as warned:  # noqa: PTH123
        try:
            code = compile(file.read(), path, "exec", dont_inherit=True)
        except Exception:  # noqa: BLE001
            os.execv(words[0], words)  # noqa: S606
    sys.path[:] = [work, *(place for place in sys.path if place != _TOP)]
    sys.argv, sys.orig_argv = [path], words
    loaded = _replace_main(path)
    for each in warned:
        warnings.showwarning(each.message, each.category, each.filename, each.lineno)
    shutdown.run(code, loaded, work)


def _replace_main(path: str) -> frozenset[str]:
    """Put our own modules out of sight, and a new `__main__` in; returns the names of the modules
    that are there before the program.
    """
    own = [name for name in sys.modules if name.partition(".")[0] == "sandbox"]
    _KEPT.extend(sys.modules.pop(name) for name in own)
    main = shutdown.main_module(path)
    _KEPT.append(sys.modules.pop("__main__"))
    loaded = frozenset(sys.modules)
    sys.modules["__main__"] = main
    return loaded

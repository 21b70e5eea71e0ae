"""The test process: the only one that may import the solution.

It is a fork of the supervisor, made before that has its secret, and has none of the supervisor's
streams: its output goes to the run's stderr.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import runpy
import site
import sys
import traceback
import types

from agents.checks.supervised.channel import Reporter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from typing import Any, NoReturn

WORK = "/work"
_PR_SET_DUMPABLE = 4
_BROKEN = 70
_JUDGE = ("pytest", "_pytest", "pluggy", "iniconfig", "unittest", "json", "traceback")
_ALWAYS = ("__main__", "builtins", "sys", "importlib", "encodings", "codecs", "site")


def run_test_process(order: Mapping[str, Any], read_fd: int, write_fd: int) -> NoReturn:
    """The whole test process."""
    leave = os._exit
    try:
        _settle()
        if order["kind"] == "script":
            _script(order, Reporter(read_fd, write_fd))
        else:
            _pytest(order, Reporter(read_fd, write_fd))
    except BaseException:  # noqa: BLE001 - the outermost frame of a process
        traceback.print_exc()
        leave(_BROKEN)
    leave(0)


def _settle() -> None:
    """Replace the supervisor's input and output."""
    os.setsid()
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    sys.stdout = open(1, "w", buffering=1, errors="replace", closefd=False)  # noqa: SIM115
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0)  # as without a judge
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"


def _pytest(order: Mapping[str, Any], reporter: Reporter) -> None:
    """Run the test files, and the tests that must fail among them."""
    pytest = importlib.import_module("pytest")
    for name in sys.modules["_pytest.config"].default_plugins:
        importlib.import_module(f"_pytest.{name}")
    session = importlib.import_module("agents.checks.supervised.session")
    canary, plug_ins = next(iter(order["canary"])), _plug_ins()
    plug_in = session.Session(reporter, canary)
    _uncover(order)
    _forget(order)
    words = ["-c", order["settings"], "--rootdir", WORK, "--continue-on-collection-errors"]
    words += [*plug_ins, *order["words"], *([] if order["aimed"] else order["tests"])]
    plug_in.close(int(pytest.main([*words, canary], plugins=[plug_in])))


def _plug_ins() -> list[str]:
    """pytest's arguments for the plug-ins of the sandbox's environment, which the operator made.
    pytest does not load plug-ins of packages that the job has installed."""
    metadata = importlib.import_module("importlib.metadata")
    entries = metadata.entry_points(group="pytest11")
    return [word for entry in sorted(entries) for word in ("-p", entry.value)]


def _script(order: Mapping[str, Any], reporter: Reporter) -> None:
    """Run a file of the checks as `python FILE` would.

    It passes if its end is reached, or if it exits with 0, itself or through a library: only files
    of the checks and of the Python installation may be on the way there.
    """
    _uncover(order)
    _forget(order)
    sys.argv = list(order["words"])
    path = f"{WORK}/{sys.argv[0]}"
    sys.path.insert(0, os.path.dirname(path))  # noqa: PTH120
    outcome, detail = "passed", ""
    reporter.begin()
    try:
        runpy.run_path(path, run_name="__main__")
    except SystemExit as end:
        others = _others(end.__traceback__, {f"{WORK}/{each}" for each in order["files"]})
        if end.code not in {None, 0}:
            outcome, detail = "failed", f"it called for an exit ({end.code!r})"
        elif others:
            outcome, detail = "failed", f"{others[-1]} called for an exit, not the script itself"
    except BaseException:  # noqa: BLE001
        outcome, detail = "failed", traceback.format_exc()[-2_000:]
    reporter.send({"id": order["words"][0], "outcome": outcome, "detail": detail})
    reporter.begin()
    reporter.send({"end": 0, "errors": {}})


def _others(trace: types.TracebackType | None, checks: Collection[str]) -> list[str]:
    """The files in the rest of a traceback, except those of the checks and of the Python
    installation."""
    python = (sys.prefix, sys.base_prefix, os.path.dirname(os.__file__), "<frozen ")  # noqa: PTH120
    found = []
    while trace is not None and (trace := trace.tb_next):
        name = trace.tb_frame.f_code.co_filename
        if name not in checks and not name.startswith(python):
            found.append(name)
    return found


def _uncover(order: Mapping[str, Any]) -> None:
    """Move the workspace's copy into its place, and add the checks' files."""
    hidden = f"{WORK}/{order['hidden']}"
    if os.path.isdir(hidden):  # noqa: PTH112
        for name in os.listdir(hidden):  # noqa: PTH208
            os.rename(f"{hidden}/{name}", f"{WORK}/{name}")  # noqa: PTH104
        os.rmdir(hidden)  # noqa: PTH106
    for path, text in {**order["files"], **order["canary"]}.items():
        whole = f"{WORK}/{path}"
        os.makedirs(os.path.dirname(whole), exist_ok=True)  # noqa: PTH103, PTH120
        with open(whole, "w", encoding="utf-8", newline="") as file:  # noqa: PTH123
            file.write(text)
    importlib.invalidate_caches()
    os.chdir(WORK)
    sys.path[:] = [path for path in sys.path if path != WORK]
    if order["site"]:
        _read_site_again()
    if order["importable"]:
        sys.path.insert(0, WORK)


def _read_site_again() -> None:
    """Add the directories that files of `site-packages` name. `site` leaves out a directory that
    does not exist, and the workspace's directories did not exist when this interpreter started."""
    packages = [path for path in sys.path if path.endswith(("site-packages", "dist-packages"))]
    sys.path[:] = [path for path in sys.path if path not in packages]
    for path in packages:
        site.addsitedir(path)


def _forget(order: Mapping[str, Any]) -> None:
    """Let the workspace's modules replace loaded libraries of the same name, except those that
    judge. Of the judge itself no module and no finder stays: the workspace may have a package of
    its name."""
    sys.meta_path[:] = [each for each in sys.meta_path if not hasattr(each, "judges")]
    top = {path.partition("/")[0].removesuffix(".py") for path in [*order["files"], *order["own"]]}
    kept = {*_ALWAYS, *_JUDGE}
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in _JUDGE:
            for value in list(vars(module).values()):
                of = value.__name__ if isinstance(value, types.ModuleType) else None
                of = of or getattr(value, "__module__", None) or ""
                kept.add(str(of).partition(".")[0])
    loaded = {name.partition(".")[0] for name in sys.modules} - kept - sys.stdlib_module_names
    gone = {*(top - kept), *filter(_is_replaced, loaded), "agents"}
    for name in [name for name in sys.modules if name.partition(".")[0] in gone]:
        del sys.modules[name]


def _is_replaced(name: str) -> bool:
    """Whether a loaded library would now be imported from another file: the project is a library of
    the same name."""
    loaded = getattr(sys.modules.get(name), "__spec__", None)
    specs = (finder.find_spec(name, None) for finder in sys.meta_path)
    spec = next(filter(None, specs), None)
    return loaded is not None and spec is not None and spec.origin != loaded.origin

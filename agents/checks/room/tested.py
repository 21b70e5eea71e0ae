"""The tested process: everything that may import the solution happens in here.

It is a fork of the supervisor, which has no secret yet, and it holds none of the supervisor's
streams: what it prints, it prints to the run's stderr.
"""

from __future__ import annotations

import ctypes
import importlib
import os
import random
import sys
import traceback
import types

from agents.checks.room.channel import Teller
from agents.checks.room.exits import Exits, is_success
from agents.checks.room.guard import Guard
from agents.checks.room.seal import sealed
from agents.checks.room.sentry import post
from agents.checks.room.session import Session, mixer
from agents.checks.room.sources import WORK, Sources

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, NoReturn

_PR_SET_DUMPABLE = 4
_JUDGE = ("pytest", "_pytest", "pluggy", "iniconfig", "unittest", "agents", "json", "traceback")
_BROKEN, TAMPERED = 70, 213
"""Exit statuses. The second is none of `os.EX_*` and none of a shell's: what a solution ends with
by itself is not told as tampering.
"""
_VOICE = ("Teller.", "agents.checks.room.channel.")
_UNSEALED = ("the judge's seal",)
"""What has changed where somebody else has asked the seal before."""
_PACKAGES = ".packages"
_AT_START = ("sitecustomize", "usercustomize", "conftest")
"""What is imported without being asked for, where it lies on the module path."""


def live(order: Mapping[str, Any], read_fd: int, write_fd: int) -> NoReturn:
    """The whole life of the tested process."""
    leave = os._exit  # it is bound before anybody can put another in its place
    try:
        _settle()
        if order["kind"] == "command":
            _uncover(order)
            _become(order["words"])
        _test(order, Teller(read_fd, write_fd))
    except BaseException:  # noqa: BLE001 - the outermost frame of a process
        traceback.print_exc()
        leave(_BROKEN)
    leave(0)


def _settle() -> None:
    """Let go of the supervisor's input and output."""
    os.setsid()
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0)  # as it would be without a judge
    for name in [name for name in os.environ if name.startswith("PYTEST_")]:
        del os.environ[name]
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    random.seed()


def _test(order: Mapping[str, Any], teller: Teller) -> None:
    leave = os._exit
    pytest = importlib.import_module("pytest")
    _load(f"_pytest.{name}" for name in sys.modules["_pytest.config"].default_plugins)
    sources = Sources({**order["files"], **order["canary"]})
    top = {path.partition("/")[0].removesuffix(".py") for path in [*order["files"], *order["own"]]}
    imported = [name for name in sources.imported() if name.partition(".")[0] not in top]
    _load(imported)
    _uncover(order)
    _make_way(top)
    sys.meta_path[:] = [each for each in sys.meta_path if not hasattr(each, "judges")]
    sources.first()
    sys.modules["__main__"] = types.ModuleType("__main__")
    names = [name for name in sys.modules if name.partition(".")[0] == "agents"]
    own = [sys.modules.pop(name) for name in names]
    exits = Exits(sources) if order["kind"] == "script" else None
    post(own)
    guard = Guard(imported, own)
    if exits is not None:
        _script(order["words"], sources, guard, exits, teller)
        return
    canary = next(iter(order["canary"]))
    session = Session(teller, sources, guard, mixer(canary))
    seal, close, checked, replaced = session.seal, session.close, guard.changed, sources.replaced
    next(seal)
    words = ["-c", order["settings"], "--rootdir", WORK, "-p", "no:cacheprovider"]
    words += ["-p", "no:terminal", "--continue-on-collection-errors", *order["words"]]
    words += [] if order["aimed"] else order["tests"]
    status = int(pytest.main([*words, canary], plugins=[session]))
    changed = [*next(seal, _UNSEALED), *checked(), *replaced()]
    if _is_mute(changed):
        leave(TAMPERED)
    teller.begin()
    teller.tell(close(status, changed))


def _script(words: list[str], sources: Sources, guard: Guard, exits: Exits, teller: Teller) -> None:
    """Run a file of the checks as `python FILE` would; it passes where its end is reached."""
    path = f"{WORK}/{words[0]}"
    sys.argv = words
    main = sys.modules["__main__"]
    main.__file__ = path
    outcome, detail = "passed", ""
    leave, seal = os._exit, sealed([teller, guard, exits, *sources.keepers()], sources.seen)
    next(seal)
    next(seal)
    teller.begin()
    try:
        sources.execute(path, main)
    except SystemExit as end:
        if not is_success(end.code):
            outcome, detail = "failed", f"it called for an exit ({end.code!r})"
        elif not exits.own(end):
            outcome, detail = "failed", "the exit was not called for by the checks themselves"
    except BaseException:  # noqa: BLE001
        outcome, detail = "failed", traceback.format_exc()[-2_000:]
    teller.tell({"id": words[0], "outcome": outcome, "detail": detail})
    changed = [*next(seal, _UNSEALED), *guard.changed(), *sources.replaced()]
    if _is_mute(changed):
        leave(TAMPERED)
    teller.begin()
    teller.tell({"end": 0, "errors": {}, "changed": changed[:20]})


def _is_mute(changed: Iterable[str]) -> bool:
    """Whether what reports is exchanged. It could change what is said of it: silence answers it."""
    return any(f"{name}.".startswith(_VOICE) for name in changed)


def _load(names: Iterable[str]) -> None:
    """Import what the checks use and the workspace does not have, before it is there."""
    for name in names:
        try:
            importlib.import_module(name)
        except BaseException:  # noqa: BLE001, S112 - no module, or one that the checks will tell of
            continue


def _uncover(order: Mapping[str, Any]) -> None:
    """Put the workspace's copy in its place, and the checks' files over it."""
    zipfile = importlib.import_module("zipfile") if _PACKAGES in order["own"] else None
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
    sys.path.insert(0, WORK)
    if zipfile is not None:
        _unpack(zipfile)


def _unpack(zipfile: Any) -> None:
    """Let packages be imported that were installed into the workspace, last of all. Only `install`
    puts files there; of a package nothing runs but what the solution or the checks import.
    """
    folder, into = f"{WORK}/{_PACKAGES}", f"/tmp/{_PACKAGES}"  # noqa: S108 - the room's own
    for name in sorted(os.listdir(folder)):  # noqa: PTH208
        if name.endswith(".whl"):
            with zipfile.ZipFile(f"{folder}/{name}") as archive:
                for entry in archive.infolist():
                    if entry.filename.partition(".")[0] not in _AT_START:
                        archive.extract(entry, into)
    sys.path.append(into)
    os.environ["PYTHONPATH"] = f"{WORK}:{into}"  # for a command, and what the checks start


def _make_way(top: Iterable[str]) -> None:
    """Let modules of the workspace come before libraries of their names that are loaded, but for
    those that judge: these stay, and are found by whoever asks for them.
    """
    shadowed = set(top).intersection(sys.modules)
    if not shadowed:
        return
    kept = {"__main__", "builtins", "sys", "importlib", "encodings", "codecs", "site"}
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in _JUDGE:
            kept.add(name.partition(".")[0])
            for value in list(vars(module).values()):
                theirs = value.__name__ if isinstance(value, types.ModuleType) else None
                theirs = theirs or getattr(value, "__module__", None) or ""
                kept.add(str(theirs).partition(".")[0])
    for name in shadowed - kept:
        for each in [each for each in sys.modules if each.partition(".")[0] == name]:
            del sys.modules[each]


def _become(words: list[str]) -> NoReturn:
    """Turn into the caller's command. pytest, where that is one, reads no settings."""
    os.environ["PYTEST_ADDOPTS"] = f"-c {os.devnull} --rootdir={WORK} -p no:cacheprovider"
    word = sys.executable if words[0] in {"python", "python3"} else words[0]
    try:
        os.execvp(word, [word, *words[1:]])  # noqa: S606
    except OSError as error:
        os.write(2, f"{words[0]}: {error.strerror}\n".encode())
    os._exit(127)

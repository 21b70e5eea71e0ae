"""Finding what this machine gives to its sandboxes: bubblewrap, the interpreter, the system's
trees.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from sandbox import policy, programs
from sandbox.local.configuration import configuration, linked_files
from sandbox.policy import HostEnvironment, Tree
from sandbox.protocol import SandboxUnavailable
from sandbox.scripts import scripts

_PATH = ":".join(policy.SYSTEM_PATH)
_ASK = (
    "import sys, os, json; print(json.dumps("
    "[sys.version_info[:2], os.path.dirname(os.__file__), sys.base_prefix, sys.base_exec_prefix]))"
)


def find(
    python: str,
    bwrap: str | None = None,
    further: Sequence[str] = (),
    layers: str | None = None,
) -> HostEnvironment:
    """The ground for sandboxes whose interpreter is `python`, an absolute path of the host. Code
    finds the programs of `sandbox.programs`, and `further` ones. The directory `layers` has what
    commands may begin with.

    Raises SandboxUnavailable where bubblewrap or the interpreter is missing or cannot serve.
    """
    program = bwrap or shutil.which("bwrap", path=_PATH)
    if program is None or not os.access(program, os.X_OK):
        raise SandboxUnavailable(
            "bubblewrap is not installed. Install it: apt-get install bubblewrap"
        )
    trees, links = _system()
    standard_library, bases = _installation(python)
    inside, own = _interpreter(python, bases)
    masked = tuple((each, Path(each).is_dir()) for each in policy.MASKED if Path(each).exists())
    links = (*links, *_programs(inside, further))
    base = None if layers is None else Tree(layers, policy.LAYERS)
    environment = Path(python).parent.parent
    return HostEnvironment(
        program,
        inside,
        (*trees, *own),
        links,
        masked,
        path=(programs.PLACE,),
        scripts=dict(scripts(environment)) if inside != python else {},
        configuration=dict([*configuration(further, _PATH), *linked_files(standard_library)]),
        layers=base,
    )


def _programs(python: str, further: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The links to the programs that this machine has, and to the interpreter."""
    for name in dict.fromkeys((*programs.PROGRAMS, *further)):
        if (there := shutil.which(name, path=_PATH)) is not None:
            yield there, f"{programs.PLACE}/{name}"
    for name in ("python", "python3"):
        yield python, f"{programs.PLACE}/{name}"


def require_unseen(host_env: HostEnvironment, private: Iterable[str]) -> None:
    """Raises SandboxUnavailable where one of these paths, without links, lies in a tree that
    sandboxes see. Its mode is no guard: a worker that is not root has the code's uid.
    """
    for path in private:
        for tree in host_env.trees:
            if Path(path).is_relative_to(os.path.realpath(tree.source)):
                raise SandboxUnavailable(
                    f"{path} lies in {tree.source}, which code in a sandbox can read. Keep the "
                    "working directory, FETTLE_DATA_DIR and FETTLE_CONFIG out of the system's "
                    "trees and of the sandbox's Python"
                )


def closed_layers(host_env: HostEnvironment) -> str:
    """Why this process may not enter the directory of layers; empty where it may, or there is none.
    What is above it needs to be open to nobody.
    """
    layers = host_env.layers
    if layers is None or os.access(layers.source, os.R_OK | os.X_OK):
        return ""
    return (
        f"sandboxes run as uid {os.geteuid()}, which may not enter it. Give it the mode 755, then "
        "restart the worker"
    )


def version(host_env: HostEnvironment) -> str:
    """What `bwrap --version` says."""
    ran = subprocess.run([host_env.bwrap, "--version"], env={}, capture_output=True, check=False)
    return ran.stdout.decode(errors="replace").strip()


def _system() -> tuple[tuple[Tree, ...], tuple[tuple[str, str], ...]]:
    """Read-only system trees; the links of a merged `/usr`, and those that `/etc` has."""
    trees = [Tree(each, each) for each in policy.SYSTEM_TREES if Path(each).exists()]
    links = []
    for each in map(Path, policy.SYSTEM_LINKS):
        if each.is_symlink():
            links.append((str(each.readlink()), str(each)))
        elif each.is_dir():
            trees.append(Tree(str(each), str(each)))
    names = (each for at in policy.SYSTEM_NAMES for each in sorted(Path(at).glob("*")))
    links += [(str(each.readlink()), str(each)) for each in names if each.is_symlink()]
    return tuple(trees), tuple(links)


def _interpreter(python: str, bases: Iterable[str]) -> tuple[str, tuple[Tree, ...]]:
    """The interpreter's path in the sandbox, and the trees it needs beyond the system's. `bases`
    are the directories of its installation.

    A virtual environment is shown at `policy.VENV`; the installation below it stays where it is,
    because its libraries and the environment's links name it by its path.
    """
    inside, trees = python, []
    for base in bases:
        if _below(base, policy.SYSTEM_TREES):
            continue
        if _below(base, policy.COVERED) or base == "/":
            raise SandboxUnavailable(
                f"the sandbox's Python is installed in {base}, a place that sandboxes have of "
                "their own. Make its environment from a Python elsewhere."
            )
        trees.append(Tree(os.path.realpath(base), base))
    venv = Path(python).parent.parent
    if (venv / "pyvenv.cfg").is_file():
        inside = f"{policy.VENV}/bin/{Path(python).name}"
        trees.append(Tree(str(venv), policy.VENV))
    return inside, tuple(trees)


def _installation(python: str) -> tuple[Path, list[str]]:
    """The interpreter's standard library, and the directories of its installation, as the
    interpreter names them and without links."""
    try:
        output = subprocess.run(
            [python, "-I", "-S", "-c", _ASK], env={}, capture_output=True, check=True, timeout=30
        )
        (major, minor), library, *bases = json.loads(output.stdout)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise SandboxUnavailable(
            f"the sandbox's Python cannot be started: {error}. Make it: make install"
        ) from error
    if (major, minor) < (3, 11):
        raise SandboxUnavailable(
            f"the sandbox's Python is {major}.{minor}; it must be 3.11 or newer"
        )
    return Path(library), sorted(
        {path for base in bases for path in (base, os.path.realpath(base))}
    )


def _below(path: str, places: tuple[str, ...]) -> bool:
    return any(path == place or path.startswith(f"{place}/") for place in places)

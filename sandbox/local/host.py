"""Finds the parts of this machine that its sandboxes use: bubblewrap, the interpreter, the system's
directories, programs, and files of `/etc` that these need.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from sandbox import policy, programs
from sandbox.policy import HostEnvironment, HostMount
from sandbox.programs import environment_scripts
from sandbox.protocol import SandboxUnavailable

SHARED_PREFIXES = ("/", "/usr", "/usr/local")
"""Installation directories that many programs share."""
_PATH = ":".join(policy.SYSTEM_PATH)
_DESCRIBE_PYTHON = (
    "import sys, os, json; print(json.dumps("
    "[sys.version_info[:2], os.path.dirname(os.__file__), sys.base_prefix, sys.base_exec_prefix]))"
)


def find_environment(
    python: str,
    bwrap: str | None = None,
    extra_programs: Sequence[str] = (),
    trees_directory: str | None = None,
) -> HostEnvironment:
    """Find the environment of sandboxes with the interpreter `python`, an absolute path of the
    host. Code finds the programs of `sandbox.programs`, and the `extra_programs`.

    Raises SandboxUnavailable if bubblewrap or the interpreter is missing or unsuitable.
    """
    bwrap_path = bwrap or shutil.which("bwrap", path=_PATH)
    if bwrap_path is None or not os.access(bwrap_path, os.X_OK):
        raise SandboxUnavailable(
            "bubblewrap is not installed. Install it: apt-get install bubblewrap"
        )
    system_mounts, links = _system_mounts()
    standard_library, prefixes = _describe_python(python)
    inner_python, python_mounts = _python_mounts(python, prefixes)
    masked = tuple((path, Path(path).is_dir()) for path in policy.MASKED if Path(path).exists())
    links = (*links, *_program_links(inner_python, extra_programs))
    trees = None if trees_directory is None else HostMount(trees_directory, policy.TREES)
    environment = Path(python).parent.parent
    return HostEnvironment(
        bwrap_path,
        inner_python,
        (*system_mounts, *python_mounts),
        links,
        masked,
        path=(programs.BIN_DIRECTORY,),
        scripts=dict(environment_scripts(environment)) if inner_python != python else {},
        configuration=dict(
            [*configuration(extra_programs, _PATH), *linked_files(standard_library)]
        ),
        trees=trees,
    )


def require_invisible(host_env: HostEnvironment, private: Iterable[str]) -> None:
    """Raise SandboxUnavailable if one of these paths (without links) is in a directory that
    sandboxes see. Its mode does not protect it: a worker that is not root has the code's uid.
    """
    for path in private:
        for mount in host_env.mounts:
            if Path(path).is_relative_to(os.path.realpath(mount.source)):
                raise SandboxUnavailable(
                    f"{path} is in {mount.source}, which code in a sandbox can read. Keep the "
                    "working directory, FETTLE_DATA_DIR and FETTLE_CONFIG out of the system's "
                    "directories and of the sandbox's Python"
                )


def find_trees_fault(host_env: HostEnvironment) -> str:
    """The reason why this process may not enter the directory of trees; empty if it may, or if
    there is no such directory. The directories above it need no special mode.
    """
    trees = host_env.trees
    if trees is None or os.access(trees.source, os.R_OK | os.X_OK):
        return ""
    return (
        f"sandboxes run as uid {os.geteuid()}, which may not enter it. Give it the mode 755, then "
        "restart the worker"
    )


def bwrap_version(host_env: HostEnvironment) -> str:
    """The output of `bwrap --version`."""
    process = subprocess.run(
        [host_env.bwrap, "--version"], env={}, capture_output=True, check=False
    )
    return process.stdout.decode(errors="replace").strip()


def configuration(
    program_names: Iterable[str], path: str, etc: Path = Path("/etc")
) -> Iterator[tuple[str, bytes]]:
    """The files of `etc` that programs with their own installation directory link to; `path` is the
    search path of the programs.

    A sandbox has its own `/etc`. Distributions keep the configuration of a JDK below `/etc`, and
    link to it from the directory of the JDK; Java does not start without these files.
    """
    located = (shutil.which(name, path=path) for name in program_names)
    directories = {Path(file).resolve().parent.parent for file in located if file is not None}
    for directory in sorted(directories - set(map(Path, SHARED_PREFIXES))):
        yield from linked_files(directory, etc)


def linked_files(directory: Path, etc: Path = Path("/etc")) -> Iterator[tuple[str, bytes]]:
    """The files below `etc` that symbolic links below `directory` name, by path, with their
    contents. A file that not every user can read is omitted, because it may contain a secret.

    Debian links from Python's standard library to `sitecustomize` in `/etc`, for example; that
    module hides modules of the same name in other directories.
    """
    for target in _link_targets(directory, etc):
        for file in (target, *sorted(target.rglob("*"))):
            if _is_readable_by_all(file):
                yield str(file), file.read_bytes()


def _link_targets(directory: Path, etc: Path) -> Iterator[Path]:
    """The targets below `etc` of all symbolic links below `directory`."""
    for folder, directories, files in os.walk(directory):
        for entry in (Path(folder, name) for name in (*directories, *files)):
            if entry.is_symlink():
                target = Path(os.path.normpath(entry.parent / entry.readlink()))
                if target.is_relative_to(etc) and target != etc:
                    yield target


def _is_readable_by_all(file: Path) -> bool:
    try:
        mode = file.stat().st_mode
    except OSError:  # a link without a target
        return False
    return stat.S_ISREG(mode) and bool(mode & stat.S_IROTH)


def _program_links(python: str, extra_programs: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The links to the programs that this machine has, and to the interpreter."""
    for name in dict.fromkeys((*programs.PROGRAMS, *extra_programs)):
        if (path := shutil.which(name, path=_PATH)) is not None:
            yield path, f"{programs.BIN_DIRECTORY}/{name}"
    for name in ("python", "python3"):
        yield python, f"{programs.BIN_DIRECTORY}/{name}"


def _system_mounts() -> tuple[tuple[HostMount, ...], tuple[tuple[str, str], ...]]:
    """The system's read-only directories; the links of a merged `/usr`, and the links of `/etc`."""
    mounts = [HostMount(path, path) for path in policy.SYSTEM_DIRECTORIES if Path(path).exists()]
    links = []
    for path in map(Path, policy.SYSTEM_LINKS):
        if path.is_symlink():
            links.append((str(path.readlink()), str(path)))
        elif path.is_dir():
            mounts.append(HostMount(str(path), str(path)))
    directories = map(Path, policy.SYSTEM_LINK_DIRECTORIES)
    candidates = (path for directory in directories for path in sorted(directory.glob("*")))
    links += [(str(path.readlink()), str(path)) for path in candidates if path.is_symlink()]
    return tuple(mounts), tuple(links)


def _python_mounts(python: str, prefixes: Iterable[str]) -> tuple[str, tuple[HostMount, ...]]:
    """The interpreter's path in the sandbox, and the directories that it needs in addition to the
    system's. `prefixes` are the directories of its installation.

    A virtual environment is mounted at `policy.VENV`. The installation below it keeps its path,
    because its libraries and the environment's links contain that path.
    """
    inner_python, mounts = python, []
    for prefix in prefixes:
        if _is_below(prefix, policy.SYSTEM_DIRECTORIES):
            continue
        if _is_below(prefix, policy.COVERED_DIRECTORIES) or prefix == "/":
            raise SandboxUnavailable(
                f"the sandbox's Python is installed in {prefix}, but sandboxes have their own "
                "directory at this path. Make its environment from a Python in another directory."
            )
        mounts.append(HostMount(os.path.realpath(prefix), prefix))
    venv = Path(python).parent.parent
    if (venv / "pyvenv.cfg").is_file():
        inner_python = f"{policy.VENV}/bin/{Path(python).name}"
        mounts.append(HostMount(str(venv), policy.VENV))
    return inner_python, tuple(mounts)


def _describe_python(python: str) -> tuple[Path, list[str]]:
    """The interpreter's standard library, and the directories of its installation, as the
    interpreter names them and without links."""
    try:
        process = subprocess.run(
            [python, "-I", "-S", "-c", _DESCRIBE_PYTHON],
            env={},
            capture_output=True,
            check=True,
            timeout=30,
        )
        (major, minor), library, *prefixes = json.loads(process.stdout)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise SandboxUnavailable(
            f"the sandbox's Python cannot be started: {error}. Make it: make install"
        ) from error
    if (major, minor) < (3, 11):
        raise SandboxUnavailable(
            f"the sandbox's Python is {major}.{minor}; it must be 3.11 or newer"
        )
    paths = {path for prefix in prefixes for path in (prefix, os.path.realpath(prefix))}
    return Path(library), sorted(paths)


def _is_below(path: str, directories: tuple[str, ...]) -> bool:
    return any(path == directory or path.startswith(f"{directory}/") for directory in directories)

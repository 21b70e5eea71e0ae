"""The order for a sandbox's agent: one Command within its Limits, as a header and blobs. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, fields

from sandbox import paths, policy
from sandbox.protocol import Command, Limits

PYTHON = "python"
SEEDS = 1 << 32
LAYERS = 8
"""Of one command, at most: their names and what is said of them fit a page, as a mount takes it."""
REMOVED = 50_000
_LAYER = re.compile("[a-z0-9-]{1,80}")
_SITE_NAME = re.compile(r"(\w[\w.-]{0,79}/){0,2}\w[\w.-]{0,79}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Order:
    """A frame for the agent: the header's text, then the blobs whose sizes it gives."""

    header: str
    blobs: tuple[bytes, ...]

    @property
    def head(self) -> bytes:
        """The header as it goes over the wire: its size in 4 bytes, and its text."""
        text = self.header.encode()
        return len(text).to_bytes(4, "big") + text


def order(
    command: Command,
    limits: Limits,
    python: str,
    *,
    grouped: Collection[str] = (),
    own_interpreter: bool = False,
    base_files: int = 0,
) -> Order:
    """The order for `command`; `python` is the interpreter's path in the sandbox. The rlimits that
    `grouped` names are not set, because a control group limits their resource. Code with a hash
    seed gets an interpreter of its own; `own_interpreter` asks for that for other code. The limit
    of files does not count the `base_files` that are in `/work` beforehand.

    `python -c CODE` becomes a script outside of `/work` (`policy.MAIN`), so that a traceback shows
    the lines that failed and `multiprocessing` finds the main module. `/work` is first on the
    module path of this script alone, and `__file__` is `/run/main.py`.

    The header's lines: a number for each limit; `rlimit NAME SOFT HARD`; `seed NUMBER` or
    `seed random`; `path DIRECTORY`; `removed PATH`; `mode 755 PATH` or `mode 644 PATH`;
    `collect no`; and with a blob each, `file SIZE PATH`, `link SIZE PATH`, `site SIZE NAME`,
    `stdin SIZE`, `word SIZE` for each of the program's, or else `code SIZE`. Layers and a proxy are
    not among them: they are chosen when a sandbox is made.

    Raises ValueError as `require` does.
    """
    _require_bounds(command, limits)
    argv, code = _program(command, policy.RUN_PYTHON if command.site else python)
    numbers = {
        "flood_bytes": policy.FLOOD_BYTES,
        "inodes": policy.inodes(limits) + base_files,
        "sample_seconds": policy.SAMPLE_SECONDS,
        **_numbers(limits),
    }
    blobs = [(f"file {len(data)} {path}", data) for path, data in command.files.items()]
    links = ((path, target.encode()) for path, target in command.links.items())
    blobs += [(f"link {len(target)} {path}", target) for path, target in links]
    blobs += [(f"site {len(data)} {name}", data) for name, data in command.site.items()]
    blobs += [(f"stdin {len(command.stdin)}", command.stdin)]
    blobs += [(f"word {len(word)}", word) for word in argv]
    blobs += [] if code is None else [(f"code {len(code)}", code)]
    asked = "random" if own_interpreter else None  # as PYTHONHASHSEED takes it
    seed = command.seed if command.seed is not None else asked
    rlimits = policy.rlimits(limits)
    header = (
        *(f"{name} {value}" for name, value in numbers.items()),
        *(
            f"rlimit {name} {soft} {hard}"
            for name, (soft, hard) in rlimits.items()
            if name not in grouped
        ),
        *(() if seed is None else (f"seed {seed}",)),
        *(f"path {path}" for path in command.path),
        *(f"removed {path}" for path in sorted(command.removed)),
        *(f"mode {755 if each else 644} {path}" for path, each in command.executable.items()),
        *(() if command.collect else ("collect no",)),
        *(line for line, _ in blobs),
    )
    return Order("\n".join(header), tuple(data for _, data in blobs))


def require(command: Command, limits: Limits) -> None:
    """Raises ValueError for a path that may not be, for files beyond the limits, for limits that
    are not positive, for a seed out of range, for layers that cannot be or have nothing to be
    removed from, and for words that no program can be given.
    """
    _require_bounds(command, limits)
    _program(command, PYTHON)


def _require_bounds(command: Command, limits: Limits) -> None:
    _require_limits(limits)
    if command.seed is not None and not 0 <= command.seed < SEEDS:
        raise ValueError(f"a seed must be from 0 to {SEEDS - 1}: it is {command.seed}")
    _require_files(command, limits)
    _require_layers(command)
    paths.require(dict.fromkeys(command.path))
    for name in command.site:
        if not _SITE_NAME.fullmatch(name):
            raise ValueError(f"not the path of a file in site-packages: {name!r}")


def _numbers(limits: Limits) -> dict[str, float]:
    """The limits by name. (`dataclasses.asdict` copies deeply: ten times the time.)"""
    return {each.name: getattr(limits, each.name) for each in fields(limits)}


def _program(command: Command, python: str) -> tuple[list[bytes], bytes | None]:
    """The program's words; or none, and the code that the interpreter is given as a script."""
    if not command.argv:
        raise ValueError("a command needs at least one word")
    first, *rest = command.argv
    if first == PYTHON and len(rest) == 2 and rest[0] == "-c":
        return [], rest[1].encode(errors="replace")
    if any("\0" in word for word in command.argv):
        raise ValueError("a command's words cannot contain a null character")
    argv = [python if first == PYTHON else first, *rest]
    return [word.encode(errors="replace") for word in argv], None


def _require_limits(limits: Limits) -> None:
    for name, value in _numbers(limits).items():
        if value <= 0:
            raise ValueError(f"a limit must be positive: {name} is {value}")


def _require_files(command: Command, limits: Limits) -> None:
    files, links = command.files, command.links
    paths.require([*files, *links])
    if twice := files.keys() & links.keys():
        raise ValueError(f"a file and a link at once: {min(twice)!r}")
    if unknown := command.executable.keys() - files.keys():
        raise ValueError(f"the mode of a file that is not there: {min(unknown)!r}")
    for path, target in links.items():
        if (reason := paths.target_fault(target)) is not None:
            raise ValueError(f"not a link of a workspace: {path!r}: {reason}")
    total = sum(map(len, (*files.values(), *links.values())))
    if (count := len(files) + len(links)) > limits.workspace_files:
        raise ValueError(f"{count} files; a workspace has at most {limits.workspace_files}")
    if total > limits.workspace_bytes:
        raise ValueError(
            f"{total} bytes of files; a workspace has at most {limits.workspace_bytes}"
        )


def _require_layers(command: Command) -> None:
    for name in command.layers:
        if not _LAYER.fullmatch(name):
            raise ValueError(f"not a layer's name: {name!r}")
    if len(set(command.layers)) < len(command.layers) or len(command.layers) > LAYERS:
        raise ValueError(f"a command has at most {LAYERS} layers, each once: {command.layers}")
    if command.removed and not command.layers:
        raise ValueError("paths are removed from layers: the command has none")
    if len(command.removed) > REMOVED:
        raise ValueError(f"{len(command.removed)} paths are removed; at most {REMOVED} can be")
    for path in command.removed:
        if (reason := paths.fault(path)) is not None:
            raise ValueError(f"not a workspace path: {path!r}: {reason}")

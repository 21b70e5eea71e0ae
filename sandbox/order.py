"""Encodes the order to a sandbox's agent: one Command within its Limits, as a header and blobs.
Pure.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, fields

from sandbox import paths, policy
from sandbox.agent import wire
from sandbox.protocol import Command, Limits

PYTHON = "python"
SEEDS = 1 << 32
MAX_TREES = 8
"""The limit for one command. The names fit the mount options of an overlay, which the kernel limits
to a page."""
MAX_REMOVED = 50_000
"""Removed paths of one command."""
_TREE_NAME = re.compile("[a-z0-9-]{1,80}")
_SITE_NAME = re.compile(r"(\w[\w.-]{0,79}/){0,2}\w[\w.-]{0,79}", re.ASCII)


@dataclass(frozen=True, slots=True)
class EncodedOrder:
    """A frame for the agent: the header's text, and the blobs that the header announces."""

    header: str
    blobs: tuple[bytes, ...]

    @property
    def framed_header(self) -> bytes:
        """The header in its frame: its size in 4 bytes, and its text."""
        text = self.header.encode()
        return len(text).to_bytes(4, "big") + text


def encode_order(
    command: Command,
    limits: Limits,
    python: str,
    *,
    omitted_rlimits: Collection[str] = (),
    own_interpreter: bool = False,
    base_files: int = 0,
) -> EncodedOrder:
    """Encode the order for `command`. Raises ValueError as `require_valid` does.

    `python` is the interpreter's path in the sandbox. `omitted_rlimits` are not set, because a
    control group limits their resource. Code with a hash seed gets a new interpreter;
    `own_interpreter` asks for one for all code. The limit of files does not count the `base_files`
    that `/work` begins with.

    `python -c CODE` becomes a script outside of `/work` (`policy.MAIN`), so that a traceback shows
    the lines that failed and `multiprocessing` finds the main module. `/work` is first on the
    module path of this script only, and `__file__` is `/run/main.py`.

    The header's lines: a number for each limit; `rlimit NAME SOFT HARD`; `seed NUMBER` or
    `seed random`; `path DIRECTORY`; `removed PATH`; `mode 755 PATH` or `mode 644 PATH`;
    `collect no`; `live yes`; and with a blob for each line, `file SIZE PATH`, `link SIZE PATH`,
    `site SIZE NAME`, `stdin SIZE`, and `word SIZE` for each of the program's words, or else
    `code SIZE`. Trees and a proxy are not in the header: the sandbox is made with them.
    """
    _require_valid_fields(command, limits)
    argv, code = _program(command, policy.RUN_PYTHON if command.site else python)
    numbers = {
        "flood_bytes": policy.FLOOD_BYTES,
        "inodes": policy.max_inodes(limits) + base_files,
        "sample_seconds": policy.SAMPLE_SECONDS,
        **_limit_values(limits),
    }
    blobs = [(f"file {len(data)} {path}", data) for path, data in command.files.items()]
    links = ((path, target.encode()) for path, target in command.links.items())
    blobs += [(f"link {len(target)} {path}", target) for path, target in links]
    blobs += [(f"site {len(data)} {name}", data) for name, data in command.site.items()]
    blobs += [(f"stdin {len(command.stdin)}", command.stdin)]
    blobs += [(f"word {len(word)}", word) for word in argv]
    blobs += [] if code is None else [(f"code {len(code)}", code)]
    default_seed = "random" if own_interpreter else None  # a value of PYTHONHASHSEED
    seed = command.seed if command.seed is not None else default_seed
    rlimits = policy.rlimits(limits)
    modes = command.executable.items()
    header = (
        *(f"{name} {value}" for name, value in numbers.items()),
        *(
            f"rlimit {name} {soft} {hard}"
            for name, (soft, hard) in rlimits.items()
            if name not in omitted_rlimits
        ),
        *(() if seed is None else (f"seed {seed}",)),
        *(f"path {path}" for path in command.path),
        *(f"removed {path}" for path in sorted(command.removed)),
        *(f"mode {755 if is_executable else 644} {path}" for path, is_executable in modes),
        *(() if command.collect else ("collect no",)),
        *(() if command.live_output is None else (f"{wire.LIVE} yes",)),
        *(line for line, _ in blobs),
    )
    return EncodedOrder("\n".join(header), tuple(data for _, data in blobs))


def require_valid(command: Command, limits: Limits) -> None:
    """Raise ValueError for: an invalid path; files beyond the limits; a limit that is not positive;
    a seed out of range; invalid trees, or removed paths without trees; words that a program cannot
    receive.
    """
    _require_valid_fields(command, limits)
    _program(command, PYTHON)


def _require_valid_fields(command: Command, limits: Limits) -> None:
    _require_limits(limits)
    if command.seed is not None and not 0 <= command.seed < SEEDS:
        raise ValueError(f"a seed must be from 0 to {SEEDS - 1}: it is {command.seed}")
    _require_files(command, limits)
    _require_trees(command)
    paths.require(dict.fromkeys(command.path))
    for name in command.site:
        if not _SITE_NAME.fullmatch(name):
            raise ValueError(f"not the path of a file in site-packages: {name!r}")


def _limit_values(limits: Limits) -> dict[str, float]:
    """The limits by name. (`dataclasses.asdict` copies deeply, which takes ten times as long.)"""
    return {field.name: getattr(limits, field.name) for field in fields(limits)}


def _program(command: Command, python: str) -> tuple[list[bytes], bytes | None]:
    """The program's words, or no words and the code of a script for the interpreter."""
    if not command.argv:
        raise ValueError("a command needs at least one word")
    program, *arguments = command.argv
    if program == PYTHON and len(arguments) == 2 and arguments[0] == "-c":
        return [], arguments[1].encode(errors="replace")
    if any("\0" in word for word in command.argv):
        raise ValueError("a command's words cannot contain a null character")
    argv = [python if program == PYTHON else program, *arguments]
    return [word.encode(errors="replace") for word in argv], None


def _require_limits(limits: Limits) -> None:
    for name, value in _limit_values(limits).items():
        if value <= 0:
            raise ValueError(f"a limit must be positive: {name} is {value}")


def _require_files(command: Command, limits: Limits) -> None:
    files, links = command.files, command.links
    paths.require([*files, *links])
    if duplicates := files.keys() & links.keys():
        raise ValueError(f"a path is both a file and a link: {min(duplicates)!r}")
    if unknown := command.executable.keys() - files.keys():
        raise ValueError(f"`executable` names a file that is not in `files`: {min(unknown)!r}")
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


def _require_trees(command: Command) -> None:
    for name in command.trees:
        if not _TREE_NAME.fullmatch(name):
            raise ValueError(f"not the name of a directory tree: {name!r}")
    if len(set(command.trees)) < len(command.trees) or len(command.trees) > MAX_TREES:
        raise ValueError(
            f"a command has at most {MAX_TREES} directory trees, without repetition: "
            f"{command.trees}"
        )
    if command.removed and not command.trees:
        raise ValueError("`removed` names paths of directory trees, but the command has no trees")
    if len(command.removed) > MAX_REMOVED:
        raise ValueError(f"{len(command.removed)} removed paths; the limit is {MAX_REMOVED}")
    for path in command.removed:
        if (reason := paths.fault(path)) is not None:
            raise ValueError(f"not a workspace path: {path!r}: {reason}")

"""Git as a process: without this machine's configuration, bounded in time, memory, output and disk.

This module sets every value that could make git start another program or read another file.
Credentials are in the environment, because other users of the machine can see a command line.
"""

from __future__ import annotations

import asyncio
import os
import re
import resource
import shutil
import signal
import subprocess
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from sandbox.protocol import MIB
from worker.repositories.errors import (
    RepositoryDiskFails,
    RepositoryRefused,
    RepositoryUnavailable,
    printable,
)

MEMORY_BYTES: Final = 2_048 * MIB
OUTPUT_BYTES: Final = 64 * MIB
OLDEST: Final = (2, 32)
"""The first version with GIT_CONFIG_GLOBAL; GIT_CONFIG_COUNT came with 2.31."""
_MISSING = "git is not installed: install Debian's package git (2.32 or newer)"
_DISK = re.compile(rb"No space left|Disk quota exceeded|Input/output error|Read-only file system")
_MACHINE = re.compile(rb"Resource temporarily unavailable|Too many open files")
_KILLED = (-signal.SIGKILL, -signal.SIGTERM)
_TIME = "(FETTLE_REPO_SECONDS)"
_CHUNK = 256 * 1024
_ERROR_BYTES = 64 * 1024

_CONFIG: Final[Mapping[str, str]] = {
    "core.hooksPath": "/dev/null",
    "core.fsmonitor": "false",
    "core.attributesFile": "/dev/null",
    "core.excludesFile": "/dev/null",
    "core.symlinks": "true",
    "core.protectNTFS": "false",  # Linux only: a backslash in a name is a usual character
    "core.bigFileThreshold": "16m",
    "core.packedGitWindowSize": "32m",
    "core.packedGitLimit": "256m",
    "credential.helper": "",
    "fetch.recurseSubmodules": "false",
    "fetch.writeCommitGraph": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "pack.threads": "2",
    "protocol.allow": "never",
    "submodule.recurse": "false",
    "transfer.fsckObjects": "true",
    "transfer.unpackLimit": "1",  # packs only: a layer links to them
}
_ENVIRONMENT: Final[Mapping[str, str]] = {
    "PATH": os.defpath,
    "HOME": "/nonexistent",
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_PROTOCOL_FROM_USER": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_OPTIONAL_LOCKS": "0",
}

FSCK_IGNORED = (
    *("badTimezone", "missingSpaceBeforeDate", "zeroPaddedFilemode", "missingSpaceBeforeEmail"),
    *("missingEmail", "missingNameBeforeEmail", "badEmail", "badFilemode", "missingTaggerEntry"),
    *("badTagName", "nulInCommit", "zeroPaddedDate", "badDate", "badDateOverflow"),
)
"""Harmless faults that old tools left in the history of well-known repositories. Faults of paths
(`..`, `.git`, `.gitmodules`) stay errors."""


class GitFailed(RepositoryUnavailable):
    """Git ended with an error. A caller that knows no better cause treats it as an outage."""

    def __init__(self, message: str, *, code: int | None = None, errors: bytes = b"") -> None:
        """`message` is git's error, shortened and printable; `errors` its full standard error."""
        super().__init__(message)
        self.message = message
        self.code = code
        self.errors = errors


class GitTooLong(GitFailed):
    """Git was killed after its time limit."""


class GitTooMuch(GitFailed):
    """Git was killed because its output, or a file that it wrote, was too large."""


@dataclass(frozen=True, slots=True)
class Git:
    """Git on a bare repository."""

    folder: Path
    """The repository."""
    seconds: float
    """The time limit of one command."""
    file_bytes: int
    """The largest file that git may write."""
    hold: tuple[int, ...] = ()
    """The descriptors of locks that git keeps open."""
    tree: Path | None = None
    """The work tree, in which git starts."""
    config: Mapping[str, str] = field(default_factory=dict, repr=False)
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)

    async def run(
        self,
        *args: str,
        stdin: bytes = b"",
        most_bytes: int = OUTPUT_BYTES,
        ends: Collection[int] = (0,),
    ) -> bytes:
        """Run a command; return its standard output. Raises GitFailed if its exit code is not in
        `ends`, and RepositoryUnavailable if the cause is this machine."""
        if (git := program()) is None:
            raise RepositoryUnavailable(_MISSING)
        process = await asyncio.create_subprocess_exec(
            *(git, f"--git-dir={self.folder}", *args),
            cwd=self.tree or "/",
            env={**_environment({**_CONFIG, **self.config}, self.tree), **self.environment},
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
            pass_fds=self.hold,
        )
        try:
            self._bound(process.pid)
            async with asyncio.timeout(self.seconds):
                output, errors, _ = await asyncio.gather(
                    _read(process.stdout, most_bytes, lambda: _kill(process)),
                    _read(process.stderr, _ERROR_BYTES),
                    _feed(process.stdin, stdin),
                )
                code = await process.wait()
        except TimeoutError:
            raise GitTooLong(f"git {args[0]} took longer than {self.seconds:g} s {_TIME}") from None
        finally:
            if process.returncode is None:
                _kill(process)
                await process.wait()
        if len(output) > most_bytes:
            raise GitTooMuch(f"git {args[0]} wrote too much", code=code)
        if code not in ends:
            raise _failure(args[0], code, errors)
        return output

    def _bound(self, pid: int) -> None:
        cpu = max(1, round(2 * self.seconds))
        with suppress(ProcessLookupError):
            resource.prlimit(pid, resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (self.file_bytes, self.file_bytes))
            resource.prlimit(pid, resource.RLIMIT_CPU, (cpu, cpu))


def program() -> str | None:
    """The path of git; None if git is not installed."""
    return shutil.which("git")


def version() -> tuple[int, ...] | None:
    """Git's version, for example (2, 39, 5); None if it is missing or unknown. Blocks."""
    if (git := program()) is None:
        return None
    try:
        done = subprocess.run(
            [git, "version"], env=_environment({}), capture_output=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(rb"(?<![\d.])(\d+(?:\.\d+)+)", done.stdout)
    return tuple(map(int, match[1].split(b"."))) if match else None


def fault(version: tuple[int, ...] | None) -> str | None:
    """The reason why git of this version (None: git is missing) does not suffice, with the remedy;
    None if it suffices."""
    if version is None:
        return _MISSING
    if version < OLDEST:
        return f"git {'.'.join(map(str, version))} is too old: 2.32 or newer is needed"
    return None


def error_line(errors: bytes) -> str:
    """Git's errors in one line of printable characters, because a remote host can write to it."""
    lines = [line.strip() for line in errors.decode(errors="replace").splitlines()]
    important = [line for line in lines if re.match(r"(remote: )?(fatal|error|ERR)", line)]
    return printable("; ".join(dict.fromkeys(important or lines)))


def _failure(command: str, code: int, errors: bytes) -> RepositoryRefused:
    """The cause of this exit code: a limit, this machine, or the repository."""
    message = error_line(errors) or f"git {command} ended with {code}"
    if code == -signal.SIGXFSZ:
        return GitTooMuch(f"git {command} wrote too much", code=code)
    if code == -signal.SIGXCPU:
        return GitTooLong(f"git {command} took too long {_TIME}", code=code)
    if _DISK.search(errors) is not None:
        return RepositoryDiskFails(f"this worker's disk cannot store the repository: {message}")
    if code in _KILLED or _MACHINE.search(errors) is not None:
        return RepositoryUnavailable(f"this worker's machine stops git: {message}")
    return GitFailed(message, code=code, errors=errors)


def _environment(config: Mapping[str, str], tree: Path | None = None) -> dict[str, str]:
    variables = {**_ENVIRONMENT, "GIT_CONFIG_COUNT": str(len(config))}
    for number, (key, value) in enumerate(config.items()):
        variables[f"GIT_CONFIG_KEY_{number}"] = key
        variables[f"GIT_CONFIG_VALUE_{number}"] = value
    if tree is not None:
        variables["GIT_WORK_TREE"] = str(tree)
    return variables


async def _read(
    stream: asyncio.StreamReader | None, limit: int, stop: Callable[[], None] = lambda: None
) -> bytes:
    """The bytes of the stream, up to one chunk over `limit`; then calls `stop` and drops the
    rest."""
    content = bytearray()
    while stream is not None and (part := await stream.read(_CHUNK)):
        if len(content) <= limit:
            content += part
            if len(content) > limit:
                stop()
    return bytes(content)


async def _feed(stream: asyncio.StreamWriter | None, content: bytes) -> None:
    if stream is None:
        return
    with suppress(
        BrokenPipeError, ConnectionResetError
    ):  # git writes the reason to its standard error
        for start in range(0, len(content), _CHUNK):
            stream.write(content[start : start + _CHUNK])
            await stream.drain()
    stream.close()


def _kill(process: asyncio.subprocess.Process) -> None:
    """Kill git and its children, which have a session of their own."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)

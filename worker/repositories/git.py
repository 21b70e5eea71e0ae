"""Git as a process: without this machine's configuration, bounded in time, memory, output and disk.

Every value that could make git start another program or read another file is set here. Credentials
go in by the environment, for a command line is seen by other users of the machine.
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
"""The first version that takes GIT_CONFIG_GLOBAL; GIT_CONFIG_COUNT is of 2.31."""
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
    "core.protectNTFS": "false",  # Linux alone: a backslash in a name is a letter
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
"""Faults that old tools left in the history of well-known repositories, and that harm nobody.
Those of paths (`..`, `.git`, `.gitmodules`) stay errors."""


class GitFailed(RepositoryUnavailable):
    """Git ended with an error: the machine's, where nobody says more. `said` is its own text,
    shortened, in printable characters; `errors` all of its standard error."""

    def __init__(self, said: str, *, code: int | None = None, errors: bytes = b"") -> None:
        super().__init__(said)
        self.said = said
        self.code = code
        self.errors = errors


class GitTooLong(GitFailed):
    """Git was ended at its time."""


class GitTooMuch(GitFailed):
    """Git was ended at its output, or at the size of a file that it wrote."""


@dataclass(frozen=True, slots=True)
class Git:
    """Git on the bare repository at `folder`. `hold` are descriptors of locks that it keeps open,
    `seconds` the time of one command, `file_bytes` the largest file that it may write; `tree` is a
    work tree, which it starts in."""

    folder: Path
    seconds: float
    file_bytes: int
    hold: tuple[int, ...] = ()
    tree: Path | None = None
    config: Mapping[str, str] = field(default_factory=dict, repr=False)
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)

    async def run(
        self,
        *args: str,
        stdin: bytes = b"",
        most_bytes: int = OUTPUT_BYTES,
        ends: Collection[int] = (0,),
    ) -> bytes:
        """Its standard output. Raises GitFailed unless it ends with one of these codes; where this
        machine is the reason, RepositoryUnavailable."""
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
                out, err, _ = await asyncio.gather(
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
        if len(out) > most_bytes:
            raise GitTooMuch(f"git {args[0]} wrote too much", code=code)
        if code not in ends:
            raise _failure(args[0], code, err)
        return out

    def _bound(self, pid: int) -> None:
        cpu = max(1, round(2 * self.seconds))
        with suppress(ProcessLookupError):
            resource.prlimit(pid, resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (self.file_bytes, self.file_bytes))
            resource.prlimit(pid, resource.RLIMIT_CPU, (cpu, cpu))


def program() -> str | None:
    """The path of git; None where this machine has none."""
    return shutil.which("git")


def version() -> tuple[int, ...] | None:
    """Git's version, as (2, 39, 5); None where it is missing or does not say. Blocks."""
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


def shown(said: bytes) -> str:
    """Git's errors in one line. A remote host can write some of it: printable characters only."""
    lines = [line.strip() for line in said.decode(errors="replace").splitlines()]
    errors = [line for line in lines if re.match(r"(remote: )?(fatal|error|ERR)", line)] or lines
    return printable("; ".join(dict.fromkeys(errors)))


def _failure(command: str, code: int, errors: bytes) -> RepositoryRefused:
    """Why git has ended with this code: at a limit, by this machine, or of what it works on."""
    said = shown(errors) or f"git {command} ended with {code}"
    if code == -signal.SIGXFSZ:
        return GitTooMuch(f"git {command} wrote too much", code=code)
    if code == -signal.SIGXCPU:
        return GitTooLong(f"git {command} took too long {_TIME}", code=code)
    if _DISK.search(errors) is not None:
        return RepositoryDiskFails(f"this worker's disk does not take it: {said}")
    if code in _KILLED or _MACHINE.search(errors) is not None:
        return RepositoryUnavailable(f"this worker's machine does not let git work: {said}")
    return GitFailed(said, code=code, errors=errors)


def _environment(config: Mapping[str, str], tree: Path | None = None) -> dict[str, str]:
    found = {**_ENVIRONMENT, "GIT_CONFIG_COUNT": str(len(config))}
    for number, (key, value) in enumerate(config.items()):
        found[f"GIT_CONFIG_KEY_{number}"] = key
        found[f"GIT_CONFIG_VALUE_{number}"] = value
    if tree is not None:
        found["GIT_WORK_TREE"] = str(tree)
    return found


async def _read(
    stream: asyncio.StreamReader | None, most: int, enough: Callable[[], None] = lambda: None
) -> bytes:
    """What comes, up to one chunk over `most`; the rest is dropped."""
    found = bytearray()
    while stream is not None and (part := await stream.read(_CHUNK)):
        if len(found) <= most:
            found += part
            if len(found) > most:
                enough()
    return bytes(found)


async def _feed(stream: asyncio.StreamWriter | None, content: bytes) -> None:
    if stream is None:
        return
    with suppress(BrokenPipeError, ConnectionResetError):  # git says why on its standard error
        for start in range(0, len(content), _CHUNK):
            stream.write(content[start : start + _CHUNK])
            await stream.drain()
    stream.close()


def _kill(process: asyncio.subprocess.Process) -> None:
    """With its children: the session is its own."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)

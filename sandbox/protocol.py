"""The interface of the sandbox: `Sandbox.run(Command, Limits) -> RunResult`.

A run's expected ends are values (`End`); only broken infrastructure raises:

    SandboxError
      +-- SandboxUnavailable   the backend cannot work here, or broke; the text names a remedy

The workspace is a value too: the command contains its regular files and symbolic links by relative
path, and the result contains the changes of the run. The code shares no path of the host except
directory trees. Its only network is the run's own loopback; the caller answers connections to one
port of it, if the command has a `proxy`.

A *directory tree* (`Command.trees`) is a directory on the worker's machine with files that many
runs begin with, because they are too large to be sent with each command: the files of a commit, or
installed dependencies. The backend is configured with the directory of all trees, and a command
names its trees. A tree is complete before any run uses its name, and never changes afterwards. No
run can write to a tree, and a run sees only its own trees.

An *isolation layer* (`IsolationLayer`) is one protection between the code and the machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

from sandbox.agent import wire

if TYPE_CHECKING:
    import asyncio

MIB = 1024 * 1024

PROXY_PORT = 3128
"""The port of 127.0.0.1 in a sandbox on which `Command.proxy` answers."""


LIVE_BYTES = wire.LIVE_BYTES
"""The most of a run's output that is passed on at one time while the run goes on."""
LIVE_SECONDS = wire.LIVE_SECONDS
"""The shortest time between two times."""


class SandboxError(Exception):
    """The root of this package's errors."""


class SandboxUnavailable(SandboxError):
    """The backend cannot work on this machine, or has broken. The text names a remedy."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The resources that one run may use. Sizes in bytes, times in seconds.

    Comparable systems have the same defaults (15 s wall, 20 s CPU, 512 MiB).
    """

    wall_seconds: float = 15.0
    cpu_seconds: int = 20
    """For all processes of the run together, as is `memory_bytes`."""
    memory_bytes: int = 512 * MIB
    processes: int = 64
    """The most processes at one time, threads included."""
    open_files: int = 256
    """The most open files of each process."""
    file_bytes: int = 32 * MIB
    workspace_bytes: int = 64 * MIB
    workspace_files: int = 10_000
    output_bytes: int = 64 * 1024
    """The part of each stream that the result contains, head and tail together."""


DEFAULT_LIMITS = Limits()


class ConnectionHandler(Protocol):
    """Answers connections that a run has made. The data of a connection is untrusted."""

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, /) -> None:
        """Answer one connection; the caller closes it afterwards."""
        ...


class OutputReceiver(Protocol):
    """Receives the end of a run's output while the run goes on. It must not wait or raise."""

    def __call__(self, tail: bytes, /) -> None:
        """`tail` is the end of all output so far, and replaces the tail before: at most
        `LIVE_BYTES` bytes of both streams, in the order in which they arrived. It may begin and end
        within a character. The bytes are untrusted."""
        ...


@dataclass(frozen=True, slots=True)
class Command:
    """One program to run in a fresh sandbox, in the directory `/work`.

    `argv[0]` is looked up inside the sandbox; `python` is the sandbox's interpreter. `files` and
    `links` are written to `/work` before it starts: relative POSIX paths without `..` or empty
    parts.

    With `trees`, `/work` begins as their union (the first tree is on top), without the paths of
    `removed`, and with `files` and `links` over that. A file or link replaces every entry that has
    its path or is in its way. If that entry is a link, it is replaced, and never followed.
    """

    argv: tuple[str, ...]
    files: Mapping[str, bytes] = field(default_factory=dict)
    stdin: bytes = b""
    seed: int | None = None
    """Python's hash seed, 0 to 4294967295 (`PYTHONHASHSEED`): two runs with one seed iterate over
    sets in the same order. None: the sandbox chooses a seed, which several runs may share. The seed
    does not affect `random` and numpy: they start from the system's entropy in each run. A run with
    a seed starts a new interpreter, which takes longer."""
    trees: tuple[str, ...] = ()
    """Names of directory trees, each of 1 to 80 of the characters a-z, 0-9 and `-`; at most 8."""
    removed: frozenset[str] = frozenset()
    """Paths of the trees that `/work` begins without: files, and directories with their content. A
    directory that becomes empty by this is missing, too."""
    executable: Mapping[str, bool] = field(default_factory=dict)
    """Which of `files` can be executed. By default, a file can be executed if it replaces an
    executable file, or if it is new and begins with `#!` or as a compiled program does."""
    links: Mapping[str, str] = field(default_factory=dict)
    """Symbolic links: targets by path. A target may lead anywhere."""
    proxy: ConnectionHandler | None = None
    """Answers the code's connections to 127.0.0.1:`PROXY_PORT`, each in a separate task. A backend
    accepts a limited number at a time (`local` 64, `docker` 16); further connections wait. The code
    has no other network. At the end of the run, all connections are closed and their tasks are
    cancelled. A run that is repeated, because its sandbox was lost, connects again. None: no
    program listens on the port."""
    site: Mapping[str, bytes] = field(default_factory=dict)
    """Files of the directory `site-packages`, by name. If there are any, the run gets a new virtual
    environment at `policy.RUN_VENV`, which has these files and shows the sandbox's packages after
    them. `python` and the programs of the sandbox's environment start in it."""
    path: tuple[str, ...] = ()
    """Directories of `/work` with programs. They are searched after the programs of the virtual
    environment and before the programs of the system."""
    collect: bool = True
    """False: the result contains no changes of `/work`, and no refusals."""
    live_output: OutputReceiver | None = None
    """Gets the end of the output during the run, at most once in `LIVE_SECONDS`, if there is new
    output. The result is the same without it. A run that is repeated, because its sandbox was lost,
    begins again."""

    @classmethod
    def python(cls, code: str, files: Mapping[str, bytes] | None = None) -> Command:
        """A command that runs `code`. The code is sent as text, never as a file of `/work`.

        Tracebacks name it `/run/main.py` and show its lines. As with `python -c`, the working
        directory is first on its module path, and not on the module path of other programs.
        """
        return cls(argv=("python", "-c", code), files=files or {})


class End(StrEnum):
    """How a run ended: by the first limit that it exceeded, or by itself."""

    EXITED = "exited"
    SIGNALED = "signaled"
    TIMEOUT = "timeout"
    CPU = "cpu"
    MEMORY = "memory"
    OUTPUT = "output"
    DISK = "disk"
    PROCESSES = "processes"
    """The program failed, and had reached the limit of processes and threads before."""
    KILLED = "killed"
    """The code ended its own sandbox, or the run was cancelled."""


@dataclass(frozen=True, slots=True)
class Stream:
    """The text that a run wrote to one of its outputs: head and tail, decoded with replacement."""

    text: str = ""
    dropped_bytes: int = 0
    """The size of the part between head and tail that `text` does not contain."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """The end of a run, its output, and its changes of `/work`.

    `exit_code` is set only for EXITED, `signal` only for SIGNALED. `changed` holds regular files
    that are new, or that differ, in their bytes or in whether they can be executed, from the files
    that `/work` began with: the command's files, and the files of its trees that the command
    neither removes nor replaces. `executable` names the changed files that can be executed. `links`
    are the symbolic links that are new or have a new target, by path. `deleted` holds the paths of
    files, links and empty directories that `/work` began with and that the run has removed.
    `refused` names the files that were not collected, with the reasons (too large, too many).

    The limits of a workspace (`Limits`) apply to the command's files and to changes, not to the
    trees. After a run with trees, no file in `/work/.git` is collected.
    """

    end: End
    exit_code: int | None
    signal: int | None
    stdout: Stream
    stderr: Stream
    seconds: float
    changed: Mapping[str, bytes] = field(default_factory=dict)
    deleted: frozenset[str] = frozenset()
    refused: tuple[str, ...] = ()
    executable: frozenset[str] = frozenset()
    links: Mapping[str, str] = field(default_factory=dict)

    @property
    def succeeded(self) -> bool:
        """Whether the program ended by itself with exit code 0."""
        return self.end is End.EXITED and self.exit_code == 0


@dataclass(frozen=True, slots=True)
class IsolationLayer:
    """One protection between the code and the machine."""

    name: str
    active: bool
    """Whether it works on this machine."""
    detail: str
    """What it does; if it is not active, what that means for the operator."""


@dataclass(frozen=True, slots=True)
class PoolCount:
    """The numbers of a backend's sandboxes that are not in use. All are 0 until its first run."""

    ready: int = 0
    making: int = 0
    """Sandboxes that are being made, also for runs that wait for one."""
    target: int = 0
    """How many sandboxes the pool keeps ready."""


class Sandbox(Protocol):
    """A backend, which runs each command in a new sandbox. The tasks of one event loop can share a
    backend.
    """

    async def run(self, command: Command, limits: Limits) -> RunResult:
        """Run `command` in a fresh sandbox and wait for its end.

        A cancelled call kills the complete sandbox before it returns. Raises SandboxUnavailable if
        the infrastructure, not the code, has failed. Raises ValueError for an invalid command, such
        as a path in `command.files` that could leave `/work`.
        """
        ...

    async def check(self) -> tuple[IsolationLayer, ...]:
        """Try a run and report the isolation layers. Raises SandboxUnavailable if no run is
        possible.
        """
        ...

    async def close(self) -> None:
        """Destroy every sandbox. A second call does nothing."""
        ...

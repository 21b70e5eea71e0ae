"""The interface of the sandbox: `Sandbox.run(Command, Limits) -> RunResult`.

A run's expected ends are values (`End`); only broken infrastructure raises:

    SandboxError
      +-- SandboxUnavailable   the backend cannot work here, or broke; says what to do

The workspace is a value too: the command contains its regular files and symbolic links by relative
path, and the result contains the changes of the run. The code shares no path of the host except
layers. Its only network is the run's own loopback; the caller answers connections to one port of
it, if the command has a `proxy`.

A *layer* is a directory tree on the worker's machine that many runs begin with: it is too large to
be sent with each command. It is in the directory of layers that the backend was configured with. It
is complete before any run uses its name, and never changes afterwards. No run can write to a layer,
and a run sees only its own layers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import asyncio

MIB = 1024 * 1024

PROXY_PORT = 3128
"""The port of 127.0.0.1 in a sandbox on which `Command.proxy` answers."""


class SandboxError(Exception):
    """The root of this package's errors."""


class SandboxUnavailable(SandboxError):
    """The backend cannot work on this machine, or has broken. Its text says what to do."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The resources that one run may use. Sizes in bytes, times in seconds.

    The defaults are those of the systems that Fettle follows (15 s wall, 20 s CPU, 512 MiB).
    """

    wall_seconds: float = 15.0
    cpu_seconds: int = 20
    """For all processes of the run together, as is `memory_bytes`."""
    memory_bytes: int = 512 * MIB
    processes: int = 64
    """At one time, threads included."""
    open_files: int = 256
    """For each process."""
    file_bytes: int = 32 * MIB
    workspace_bytes: int = 64 * MIB
    workspace_files: int = 10_000
    output_bytes: int = 64 * 1024
    """Kept of each stream, head and tail together."""


DEFAULT_LIMITS = Limits()


class ConnectionHandler(Protocol):
    """Answers a connection that a run has made. It reads untrusted data: the code has sent them."""

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, /) -> None:
        """Answer one connection, which is closed afterwards."""
        ...


@dataclass(frozen=True, slots=True)
class Command:
    """One program to run in a fresh sandbox, in the directory `/work`.

    `argv[0]` is looked up inside the sandbox; `python` is the sandbox's interpreter. `files` and
    `links` are written to `/work` before it starts: relative POSIX paths without `..` or empty
    parts.

    With `layers`, `/work` begins as their union (the first layer is on top), without the paths of
    `removed`, and with `files` and `links` over that. A file or link replaces every entry that has
    its path or is in its way. If that entry is a link, it is replaced, and never followed.
    """

    argv: tuple[str, ...]
    files: Mapping[str, bytes] = field(default_factory=dict)
    stdin: bytes = b""
    seed: int | None = None
    """Python's hash seed, 0 to 4294967295 (`PYTHONHASHSEED`): the order of sets is the same in two
    runs of one seed. None: one of the sandbox's choosing, which several runs may share. `random`
    and numpy start from the system's entropy in each run, whatever the seed. A run with a seed
    starts an interpreter of its own, which takes longer."""
    layers: tuple[str, ...] = ()
    """Names of layers, each of 1 to 80 of the characters a-z, 0-9 and `-`; at most 8."""
    removed: frozenset[str] = frozenset()
    """Paths of the layers that `/work` begins without: files, and directories with their content. A
    directory that becomes empty by this is missing, too."""
    executable: Mapping[str, bool] = field(default_factory=dict)
    """Which of `files` can be executed. By default, a file can be executed if it replaces an
    executable file, or if it is new and begins with `#!` or as a compiled program does."""
    links: Mapping[str, str] = field(default_factory=dict)
    """Symbolic links: targets by path. A target may lead anywhere."""
    proxy: ConnectionHandler | None = None
    """Answers the code's connections to 127.0.0.1:`PROXY_PORT`, each in a task of its own. A
    backend accepts a limited number at a time (`local` 64, `docker` 16); further connections wait.
    The code has no other network. At the end of the run, all connections are closed and their tasks
    are cancelled. A run that is repeated, because its sandbox was lost, connects again. None: no
    program listens on the port."""
    site: Mapping[str, bytes] = field(default_factory=dict)
    """Files of the directory `site-packages`, by name. If there are any, the run gets a virtual
    environment of its own at `policy.RUN_VENV`, which has these files and shows the sandbox's
    packages after them. `python` and the programs of the sandbox's environment start in it."""
    path: tuple[str, ...] = ()
    """Directories of `/work` in which programs are found before those of the system, but after
    those of the virtual environment."""
    collect: bool = True
    """False: the result contains no changes of `/work`, and no refusals."""

    @classmethod
    def python(cls, code: str, files: Mapping[str, bytes] | None = None) -> Command:
        """`code` as a program of its own: it is handed over as text, never as a file of `/work`.

        Tracebacks name it `/run/main.py` and show its lines. As with `python -c`, the working
        directory is first on its module path, and on no other program's.
        """
        return cls(argv=("python", "-c", code), files=files or {})


class End(StrEnum):
    """How a run ended: the first limit that was hit, else how the process went."""

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
    """The sandbox died under the code's hands, or the run was cancelled."""


@dataclass(frozen=True, slots=True)
class Stream:
    """What a run wrote to one of its outputs: the head and tail, decoded with replacement."""

    text: str = ""
    dropped_bytes: int = 0


@dataclass(frozen=True, slots=True)
class RunResult:
    """The end of a run, its output, and its changes of `/work`.

    `exit_code` is set only for EXITED, `signal` only for SIGNALED. `changed` holds regular files
    that are new, or that differ, in their bytes or in whether they can be executed, from the files
    that `/work` began with: the command's files, and the files of its layers that the command
    neither removes nor replaces. `executable` names the changed files that can be executed. `links`
    are the symbolic links that are new or have a new target, by path. `deleted` holds the paths of
    files, links and empty directories that `/work` began with and that the run has removed.
    `refused` names the files that were not collected, with the reasons (too large, too many).

    The limits of a workspace (`Limits`) apply to the command's files and to changes, not to the
    layers. After a run with layers, no file in `/work/.git` is collected.
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
class Layer:
    """One layer of isolation: what it is, whether it is active here, and what that means."""

    name: str
    active: bool
    detail: str


@dataclass(frozen=True, slots=True)
class PoolCount:
    """A backend's sandboxes that no run has yet: those that stand `ready`, those in the `making`,
    and how many are `wanted` ready. All are 0 until its first run."""

    ready: int = 0
    making: int = 0
    wanted: int = 0


class Sandbox(Protocol):
    """A backend. Safe to share among the tasks of one event loop."""

    async def run(self, command: Command, limits: Limits) -> RunResult:
        """Run `command` in a fresh sandbox and wait for its end.

        A cancelled call kills the whole sandbox before it returns. Raises SandboxUnavailable where
        the infrastructure, not the code, has failed; ValueError for a path in `command.files`
        that could leave `/work`.
        """
        ...

    async def check(self) -> tuple[Layer, ...]:
        """Try a run and report the layers; raises SandboxUnavailable where no run is possible."""
        ...

    async def close(self) -> None:
        """Destroy every sandbox. A second call does nothing."""
        ...

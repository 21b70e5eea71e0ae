"""The agent of a sandbox: waits for one order, runs and watches the code, answers once, and ends.

It is the parent of the code, so it gets exit codes and signals from the kernel. It is either the
sandbox's init itself, which the code's signals cannot reach, or a child of the init; the code never
has pid 1.
"""

# ruff: noqa: PTH123

from __future__ import annotations

import os

from sandbox.agent import program, wire
from sandbox.agent.collect import Collected, collect
from sandbox.agent.resource_monitor import ResourceMonitor
from sandbox.agent.supervise import Observed, RunSupervisor
from sandbox.agent.walk import Base
from sandbox.agent.write import Written, write_files, write_over
from sandbox.zygote.venv import make_venv

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_IMPORTABLE = (".py", ".pyc", ".so", ".zip", ".egg", ".whl")
"""The ends of the names of files that Python can import from, in any directory."""
_BLOBS = frozenset({"code", "file", "link", "site", "stdin", "word"})


class AgentContext:
    """The values that the agent gets when its sandbox is made: the paths, in the sandbox, of the
    interpreter (`python`) and of the code (`main`), and the code's whole environment.
    """

    def __init__(self, python: str, main: str, env: Mapping[str, str]) -> None:
        self.python, self.main, self.env = python, main, env

    @classmethod
    def read(cls, path: str) -> AgentContext:
        """From a file of `python PATH`, `main PATH` and `env NAME=VALUE` lines."""
        with open(path, encoding="utf-8") as file:
            pairs_of_lines = wire.lines(file.read())
        python = next(value for key, value in pairs_of_lines if key == "python")
        main = next(value for key, value in pairs_of_lines if key == "main")
        pairs = (value.partition("=") for key, value in pairs_of_lines if key == "env")
        return cls(python, main, {name: value for name, _, value in pairs})


class Order:
    """The program to run, read from the control channel; `sandbox/order.py` writes it."""

    def __init__(self, control: int) -> None:
        self.words: list[str] = []
        self.files: dict[str, bytes] = {}
        self.executable: dict[str, bool] = {}
        self.links: dict[str, str] = {}
        self.site: dict[str, bytes] = {}
        self.path: list[str] = []
        self.removed: list[str] = []
        self.stdin = b""
        self.code: bytes | None = None
        self.seed: str | None = None
        self.collect = True
        self.limits: dict[str, float] = {}
        self.rlimits: dict[str, tuple[int, int]] = {}
        for key, value in wire.receive_lines(control):
            if key in _BLOBS:
                size, _, name = value.partition(" ")
                self._take(key, name, wire.receive(control, int(size)))
            elif key == "mode":
                mode, _, path = value.partition(" ")
                self.executable[path] = mode == "755"
            elif key == "path":
                self.path.append(f"{program.WORK}/{value}")
            elif key == "removed":
                self.removed.append(value)
            elif key == "rlimit":
                name, soft, hard = value.split()
                self.rlimits[name] = int(soft), int(hard)
            elif key == "seed":
                self.seed = value
            elif key == "collect":
                self.collect = False
            else:
                self.limits[key] = float(value)

    def _take(self, key: str, name: str, data: bytes) -> None:
        """A blob, which follows its line; of those with a `name` there can be several."""
        if key == "word":
            self.words.append(data.decode(errors="replace"))
        elif key == "file":
            self.files[name] = data
        elif key == "link":
            self.links[name] = data.decode()
        elif key == "site":
            self.site[name] = data
        elif key == "stdin":
            self.stdin = data
        else:
            self.code = data


def main(control: int, given_path: str) -> None:
    """Serve one order over the socket `control`, with an interpreter that starts from nothing."""
    os.set_inheritable(control, False)
    harden()
    serve(control, control, AgentContext.read(given_path), None, ResourceMonitor())


def serve(
    read_fd: int,
    write_fd: int,
    context: AgentContext,
    waiting: program.Waiting | None,
    monitor: ResourceMonitor,
    base: Base | None = None,
    listening: int | None = None,
) -> None:
    """Report that the sandbox is ready, read one order, run it, and answer. Also returns if
    `read_fd` ends before an order; the caller ends the process.

    Neither descriptor may be inheritable, and the process must be hardened. `waiting` is a process
    that waits for an order (`interpreter.prepare`); without it, a new process is started. `base`
    describes the layers of `/work`, if there are any. `listening` is a socket that is sent with the
    report that the sandbox is ready; `write_fd` has to be a socket then.
    """
    if listening is None:
        wire.write_all(write_fd, wire.READY)
    else:
        wire.hand_over(write_fd, wire.READY, listening)
    try:
        order = Order(read_fd)
    except EOFError:
        return
    written = Written(order.files, order.executable, order.links)
    if base is None:
        write_files(program.WORK, written)
    else:
        write_over(program.WORK, written, order.removed)
    importable = any(path.endswith(_IMPORTABLE) for path in order.files)
    alone = base is None and not order.links and not importable
    running = _start(waiting, order, context, alone=alone)
    observed = RunSupervisor(running, monitor, order.limits, order.stdin, read_fd).follow()
    _answer(write_fd, observed, order, written, base)


def harden() -> None:
    """Keep the code out of this process: what is not dumpable cannot be traced by others of its
    uid, nor can they open its memory or descriptors.
    """
    program.set_dumpable(0)


def _start(
    waiting: program.Waiting | None, order: Order, context: AgentContext, *, alone: bool
) -> program.Program:
    """The process that waits for code, or a new process if none waits.

    A process that waits has libraries loaded. It runs the code itself only if the code cannot
    notice a difference from a new interpreter: the code is `alone`, which means that the workspace
    has no file that could be imported in the place of a library. Otherwise it executes an
    interpreter.
    """
    python, env = context.python, dict(context.env)
    first = order.path
    if order.site:
        python = make_venv(context.python, order.site)
        first = [os.path.dirname(python), *first]  # noqa: PTH120
    if first:
        env["PATH"] = ":".join((*first, env["PATH"]))
    if order.seed is not None:
        env["PYTHONHASHSEED"] = order.seed
    argv = order.words
    if order.code is not None:
        program.write_main(context.main, order.code)
        argv = program.script_command(python, context.main)
    if waiting is None:
        return program.start(argv, env, order.rlimits)
    code = order.code if alone and env == dict(context.env) else None
    waiting.begin((argv, code, env, order.rlimits))
    return waiting


def _answer(
    control: int, observed: Observed, order: Order, written: Written, base: Base | None
) -> None:
    changes = Collected()
    if order.collect:
        changes = collect(program.WORK, written, order.limits, base, order.removed)
    streams = (observed.stdout, observed.stderr)
    links = {path: target.encode() for path, target in changes.links.items()}

    def header() -> Iterator[str]:
        yield f"end {observed.end or '-'}"
        yield f"status {observed.status}"
        yield f"seconds {observed.seconds:.6f}"
        yield f"cpu_seconds {observed.cpu_seconds:.6f}"
        for name, stream in zip(("stdout", "stderr"), streams, strict=True):
            yield f"{name} {len(stream.head)} {len(stream.tail)} {stream.dropped}"
        for path, data in changes.changed.items():
            yield f"changed {len(data)} {path}"
        for path, target in links.items():
            yield f"link {len(target)} {path}"
        yield from (f"executable {path}" for path in changes.executable)
        yield from (f"deleted {path}" for path in changes.deleted)
        yield from (f"refused {line}" for line in changes.refused)

    outputs = [part for stream in streams for part in (bytes(stream.head), stream.tail)]
    wire.send(control, header(), [*outputs, *changes.changed.values(), *links.values()])

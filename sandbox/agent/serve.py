"""The agent of a sandbox: waits for one order, has it run, watches, answers once, and ends.

It is the parent of the code, so exit codes and signals are what the kernel says. It is either the
sandbox's init itself, out of reach of the code's signals, or a child of one; the code never is pid
1.
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

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

_SOURCES = (".py", ".pyc", ".so")


class AgentContext:
    """What the agent gets when its sandbox is made: the interpreter's path in the sandbox, where
    the code is to lie, and the code's whole environment.
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
    """What is to be run, read from the control channel; `sandbox/order.py` writes it."""

    def __init__(self, control: int) -> None:
        self.words: list[str] = []
        self.files: dict[str, bytes] = {}
        self.executable: dict[str, bool] = {}
        self.links: dict[str, str] = {}
        self.removed: list[str] = []
        self.stdin = b""
        self.code: bytes | None = None
        self.seed: str | None = None
        self.collect = True
        self.limits: dict[str, float] = {}
        self.rlimits: dict[str, tuple[int, int]] = {}
        for key, value in wire.receive_lines(control):
            first, _, rest = value.partition(" ")
            if key == "word":
                self.words.append(wire.receive(control, int(first)).decode(errors="replace"))
            elif key == "removed":
                self.removed.append(value)
            elif key in {"file", "link", "mode"}:
                self._take_entry(control, key, first, rest)
            elif key == "stdin":
                self.stdin = wire.receive(control, int(first))
            elif key == "code":
                self.code = wire.receive(control, int(first))
            elif key == "rlimit":
                name, soft, hard = value.split()
                self.rlimits[name] = int(soft), int(hard)
            elif key == "seed":
                self.seed = value
            elif key == "collect":
                self.collect = False
            else:
                self.limits[key] = float(value)

    def _take_entry(self, control: int, key: str, first: str, path: str) -> None:
        """Note a file or a link, whose size is `first`, or the mode of a file."""
        if key == "mode":
            self.executable[path] = first == "755"
        elif key == "link":
            self.links[path] = wire.receive(control, int(first)).decode()
        else:
            self.files[path] = wire.receive(control, int(first))


def main(control: int, given_path: str) -> None:
    """Serve one order over the socket `control`, with an interpreter that starts from nothing."""
    os.set_inheritable(control, False)
    harden()
    serve(control, control, AgentContext.read(given_path), None, ResourceMonitor())


def serve(
    read_fd: int,
    write_fd: int,
    given: AgentContext,
    waiting: program.Waiting | None,
    monitor: ResourceMonitor,
    base: Base | None = None,
    listening: int | None = None,
) -> None:
    """Say that the sandbox is ready, take one order, run it, answer. Returns also where no order
    came before the end of `read_fd`; the caller ends the process.

    Neither descriptor may be inheritable, and the process must be hardened. `waiting` is a process
    that waits to take the order (`interpreter.prepare`); without one, a new process is started.
    `base` is what `/work` is made of, where it has layers. `listening` is a socket that is handed
    over with the word that the sandbox is ready; `write_fd` is a socket then.
    """
    if listening is None:
        wire.write_all(write_fd, wire.READY)
    else:
        wire.hand_over(write_fd, wire.READY, listening)
    try:
        order = Order(read_fd)
    except EOFError:
        return
    top: Iterable[str] = order.files
    written = Written(order.files, order.executable, order.links)
    if base is None:
        write_files(program.WORK, written)
    else:
        write_over(program.WORK, written, order.removed)
        top = sources(program.WORK)
    running = _start(waiting, order, given, modules(top))
    seen = RunSupervisor(running, monitor, order.limits, order.stdin, read_fd).follow()
    _answer(write_fd, seen, order, written, base)


def harden() -> None:
    """Keep the code out of this process: what is not dumpable cannot be traced by others of its
    uid, nor can they open its memory or descriptors.
    """
    program.set_dumpable(0)


def _start(
    waiting: program.Waiting | None, order: Order, given: AgentContext, own: set[str]
) -> program.Program:
    """The process that waits already, where there is one; else a new one. `own` are the names of
    the workspace's modules.
    """
    argv = order.words
    if order.code is not None:
        program.write_main(given.main, order.code)
        argv = program.python_command(given.python, given.main)
    if waiting is None:
        env = dict(given.env)
        if order.seed is not None:
            env["PYTHONHASHSEED"] = order.seed
        return program.start(argv, env, order.rlimits)
    waiting.begin((argv, order.code, order.seed, order.rlimits, own))
    return waiting


def sources(work: str) -> set[str]:
    """The modules at the top of `work`, and what makes packages of directories there."""
    found = set(os.listdir(work))  # noqa: PTH208
    inits = (f"{name}/__init__{end}" for name in found for end in _SOURCES if "." not in name)
    return found | {path for path in inits if os.path.lexists(f"{work}/{path}")}


def modules(paths: Iterable[str]) -> set[str]:
    """The names under which Python would import the files at the top of the workspace."""
    found = set()
    for path in paths:
        top, _, rest = path.partition("/")
        if not rest and top.endswith(_SOURCES):
            found.add(top.partition(".")[0])
        elif rest.partition(".")[0] == "__init__" and rest.endswith(_SOURCES):
            found.add(top)
    return found


def _answer(
    control: int, seen: Observed, order: Order, written: Written, base: Base | None
) -> None:
    left = Collected()
    if order.collect:
        left = collect(program.WORK, written, order.limits, base, order.removed)
    kept = (seen.stdout, seen.stderr)
    links = {path: target.encode() for path, target in left.links.items()}

    def header() -> Iterator[str]:
        yield f"end {seen.end or '-'}"
        yield f"status {seen.status}"
        yield f"seconds {seen.seconds:.6f}"
        yield f"cpu_seconds {seen.cpu_seconds:.6f}"
        for name, stream in zip(("stdout", "stderr"), kept, strict=True):
            yield f"{name} {len(stream.head)} {len(stream.tail)} {stream.dropped}"
        for path, data in left.changed.items():
            yield f"changed {len(data)} {path}"
        for path, target in links.items():
            yield f"link {len(target)} {path}"
        yield from (f"executable {path}" for path in left.executable)
        yield from (f"deleted {path}" for path in left.deleted)
        yield from (f"refused {line}" for line in left.refused)

    outputs = [part for stream in kept for part in (bytes(stream.head), stream.tail)]
    wire.send(control, header(), [*outputs, *left.changed.values(), *links.values()])

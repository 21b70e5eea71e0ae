"""The agent of a sandbox: it receives one order, runs and watches the code, answers, and ends.

The agent is the parent of the code, so the kernel reports exit codes and signals to it. It is the
sandbox's init, which the code's signals cannot reach, or a child of the init; the code never has
pid 1.
"""

# ruff: noqa: PTH123

from __future__ import annotations

import os

from sandbox.agent import code_process, wire
from sandbox.agent.collect import Changes, collect
from sandbox.agent.resource_monitor import ResourceMonitor
from sandbox.agent.supervise import RunSummary, RunSupervisor
from sandbox.agent.workspace import WorkTrees, WrittenFiles, write_files, write_over
from sandbox.zygote.venv import make_venv

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_IMPORTABLE = (".py", ".pyc", ".so", ".zip", ".egg", ".whl")
"""The suffixes of files that Python can import from, in any directory."""
_BLOBS = frozenset({"code", "file", "link", "site", "stdin", "word"})


class AgentContext:
    """The values that the agent gets when its sandbox is made: the paths, in the sandbox, of the
    interpreter (`python`) and of the code (`main`), and the code's full environment.
    """

    def __init__(self, python: str, main: str, env: Mapping[str, str]) -> None:
        self.python, self.main, self.env = python, main, env

    @classmethod
    def read(cls, path: str) -> AgentContext:
        """Read a file of `python PATH`, `main PATH` and `env NAME=VALUE` lines."""
        with open(path, encoding="utf-8") as file:
            lines = wire.parse_lines(file.read())
        python = next(value for key, value in lines if key == "python")
        main = next(value for key, value in lines if key == "main")
        variables = (value.partition("=") for key, value in lines if key == "env")
        return cls(python, main, {name: value for name, _, value in variables})


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
        self.live = False
        self.limits: dict[str, float] = {}
        self.rlimits: dict[str, tuple[int, int]] = {}
        for key, value in wire.receive_lines(control):
            if key in _BLOBS:
                size, _, name = value.partition(" ")
                self._store_blob(key, name, wire.receive_bytes(control, int(size)))
            elif key == "mode":
                mode, _, path = value.partition(" ")
                self.executable[path] = mode == "755"
            elif key == "path":
                self.path.append(f"{code_process.WORK}/{value}")
            elif key == "removed":
                self.removed.append(value)
            elif key == "rlimit":
                name, soft, hard = value.split()
                self.rlimits[name] = int(soft), int(hard)
            elif key == "seed":
                self.seed = value
            elif key == "collect":
                self.collect = False
            elif key == wire.LIVE:
                self.live = True
            else:
                self.limits[key] = float(value)

    def _store_blob(self, key: str, name: str, data: bytes) -> None:
        """Store a blob; there can be several blobs with a `name`."""
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


def main(control: int, context_path: str) -> None:
    """Serve one order over the socket `control`, and start a new interpreter for it."""
    os.set_inheritable(control, False)
    harden()
    serve(control, control, AgentContext.read(context_path), None, ResourceMonitor())


def serve(
    read_fd: int,
    write_fd: int,
    context: AgentContext,
    waiting: code_process.WaitingProcess | None,
    monitor: ResourceMonitor,
    trees: WorkTrees | None = None,
    proxy_socket: int | None = None,
) -> None:
    """Report that the sandbox is ready, read one order, run it, and answer. Also returns if
    `read_fd` ends before an order; the caller ends the process.

    Neither descriptor may be inheritable, and the process must be hardened. `waiting` is a process
    that waits for an order; without it, a new process is started. `trees` describes the directory
    trees of `/work`, if it has any. `proxy_socket` is a listening socket that is sent with the
    report that the sandbox is ready; `write_fd` has to be a socket then.
    """
    if proxy_socket is None:
        wire.write_all(write_fd, wire.READY)
    else:
        wire.send_descriptor(write_fd, wire.READY, proxy_socket)
    try:
        order = Order(read_fd)
    except EOFError:
        return
    written = WrittenFiles(order.files, order.executable, order.links)
    if trees is None:
        write_files(code_process.WORK, written)
    else:
        write_over(code_process.WORK, written, order.removed)
    has_importable = any(path.endswith(_IMPORTABLE) for path in order.files)
    is_alone = trees is None and not order.links and not has_importable
    process = _start(waiting, order, context, is_alone=is_alone)
    live_descriptor = write_fd if order.live else None
    supervisor = RunSupervisor(
        process, monitor, order.limits, order.stdin, read_fd, live_descriptor
    )
    summary = supervisor.watch()
    _send_answer(write_fd, summary, order, written, trees)


def harden() -> None:
    """Protect this process from the code: other processes of its uid cannot trace a process that is
    not dumpable, nor open its memory or descriptors.
    """
    code_process.set_dumpable(0)


def _start(
    waiting: code_process.WaitingProcess | None,
    order: Order,
    context: AgentContext,
    *,
    is_alone: bool,
) -> code_process.CodeProcess:
    """Send the order to the process that waits, or start a new process.

    A process that waits has libraries loaded. It runs the code itself only if the code cannot
    notice a difference from a new interpreter: the code `is_alone`, which means that the workspace
    has no file that could be imported in the place of a library. Otherwise it executes an
    interpreter.
    """
    python, env = context.python, dict(context.env)
    program_path = order.path
    if order.site:
        python = make_venv(context.python, order.site)
        program_path = [os.path.dirname(python), *program_path]  # noqa: PTH120
    if program_path:
        env["PATH"] = ":".join((*program_path, env["PATH"]))
    if order.seed is not None:
        env["PYTHONHASHSEED"] = order.seed
    argv = order.words
    if order.code is not None:
        code_process.write_main(context.main, order.code)
        argv = code_process.script_command(python, context.main)
    if waiting is None:
        return code_process.start(argv, env, order.rlimits)
    code = order.code if is_alone and env == dict(context.env) else None
    waiting.send_order((argv, code, env, order.rlimits))
    return waiting


def _send_answer(
    control: int,
    summary: RunSummary,
    order: Order,
    written: WrittenFiles,
    trees: WorkTrees | None,
) -> None:
    changes = Changes()
    if order.collect:
        changes = collect(code_process.WORK, written, order.limits, trees, order.removed)
    streams = (summary.stdout, summary.stderr)
    links = {path: target.encode() for path, target in changes.links.items()}

    def header() -> Iterator[str]:
        yield f"end {summary.end or '-'}"
        yield f"status {summary.status}"
        yield f"seconds {summary.seconds:.6f}"
        yield f"cpu_seconds {summary.cpu_seconds:.6f}"
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
    wire.send_frame(control, header(), [*outputs, *changes.changed.values(), *links.values()])

"""The zygote: an interpreter with loaded libraries, which is copied into every sandbox.

It is the first process of the base container, has one thread, holds no secret and never receives a
byte of a job. For each sandbox, the supervisor sends one datagram:

    make BYTES INODES PORT CLOCK COPY [TREE ...] + descriptors
                                                 -> made + descriptor, or failed REASON

BYTES and INODES are the size of `/work`; PORT is the port on which the sandbox listens for a proxy
(0: none). The TREEs are the directory trees that `/work` begins with, as a copy if COPY is 1. The
descriptors are: the socket of the sandbox's agent; the member lists of the sandbox's control group;
if CLOCK is 1, the group's counter of processor time. The answer contains a pidfd of the sandbox's
first process. The job arrives over the agent's socket: one end is in the sandbox, the other end is
the worker's.

Before the first datagram the zygote sends `ready` once. When the supervisor has ended, the zygote
ends too. The kernel then ends every sandbox, because their pid namespaces are below the zygote's.
"""

# ruff: noqa: PTH115, PTH118, PTH123, PTH208

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
from collections.abc import Sequence

from sandbox.agent import code_process, serve, wire
from sandbox.agent.isolation import Isolation
from sandbox.agent.resource_monitor import ResourceMonitor
from sandbox.agent.workspace import WorkTrees
from sandbox.zygote import preload

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sandbox.zygote.interpreter import ServeOrder

MESSAGE_BYTES = 4096
_MAX_DESCRIPTORS = 8
"""The limit for one datagram: the agent's socket, a member list for each hierarchy of control
groups, and a clock."""

_BACKLOG = 64
"""Connections to a proxy that the worker has not accepted yet."""

# linux/sched.h: NEWNS, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET; NEWCGROUP comes with `isolation`.
_NAMESPACES = 0x20000 | 0x4000000 | 0x8000000 | 0x10000000 | 0x20000000 | 0x40000000
_PIDFD = 0x1000
_FLAGS = ctypes.c_ulong(_NAMESPACES | _PIDFD | int(signal.SIGCHLD))
_CLONE = ctypes.c_long({"x86_64": 56, "aarch64": 220}[os.uname().machine])
_clone = ctypes.PyDLL(None, use_errno=True).syscall  # holds the interpreter's lock during a call


class _SandboxRequest:
    """One `make` datagram, in the sandbox that was made for it."""

    def __init__(self, words: Sequence[str], descriptors: list[int]) -> None:
        self.work_bytes, self.work_inodes = int(words[0]), int(words[1])
        self.proxy_port = int(words[2])
        self.agent_socket, *self.member_lists = descriptors
        self.clock = self.member_lists.pop() if words[3] == "1" else None
        self.trees = WorkTrees(words[5:], is_copy=words[4] == "1") if words[5:] else None


class _Template:
    """The values that all sandboxes of this zygote share."""

    def __init__(
        self, isolation: Isolation, context: serve.AgentContext, fonts: dict[str, bytes]
    ) -> None:
        self.isolation, self.context, self.fonts = isolation, context, fonts
        self.monitor = ResourceMonitor()


def prepare_agent(control: int, *, libraries: bool) -> tuple[serve.AgentContext, ServeOrder]:
    """Serve the supervisor at the other end of the socket `control` until it has ended. Returns
    only in a copy of this process: in the first process of a new sandbox, as
    `interpreter.PrepareAgent`.

    `libraries`: load the usual libraries before the first sandbox.
    """
    request, template = _serve_supervisor(control, libraries=libraries)
    proxy_socket = _isolate(request, template)

    def serve_order(waiting: code_process.WaitingProcess) -> None:
        fd, monitor = request.agent_socket, template.monitor
        serve.serve(fd, fd, template.context, waiting, monitor, request.trees, proxy_socket)

    return template.context, serve_order


def _serve_supervisor(control: int, *, libraries: bool) -> tuple[_SandboxRequest, _Template]:
    """Make a sandbox for each datagram. Returns in each of the sandboxes."""
    os.set_inheritable(control, False)
    # The kernel reaps sandboxes that have ended; the supervisor learns of it by their pidfds.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a sandbox's first process handles no signal
    preload.load(libraries=libraries)
    with open("/agent/isolation", encoding="utf-8") as file, open("/agent/filter", "rb") as filter_:
        isolation = Isolation(file.read(), filter_.read())
    context = serve.AgentContext.read("/agent/context")
    template = _Template(isolation, context, _read_files(isolation.fonts))
    _require_no_descriptors(control)
    supervisor = socket.socket(fileno=control)
    supervisor.send(b"ready")
    while True:
        data, descriptors, _, _ = socket.recv_fds(supervisor, MESSAGE_BYTES, _MAX_DESCRIPTORS)
        if not data:
            os._exit(0)
        if _make_sandbox(supervisor, descriptors):
            return _SandboxRequest(data.decode().split()[1:], descriptors), template


def _make_sandbox(supervisor: socket.socket, descriptors: list[int]) -> bool:
    """Make one sandbox, and report it to the supervisor. Returns True in the sandbox."""
    try:
        pidfd = _clone_process()
    except OSError as error:
        supervisor.send(f"failed a new namespace: {error.strerror}".encode())
    else:
        if pidfd is None:
            os.close(supervisor.detach())
            return True
        _report(supervisor, pidfd)
    for fd in descriptors:
        os.close(fd)
    return False


def _report(supervisor: socket.socket, pidfd: int) -> None:
    """Report a new sandbox. If its pidfd cannot be sent, because too many descriptors of this user
    are in flight, kills the sandbox.
    """
    try:
        socket.send_fds(supervisor, [b"made"], [pidfd])
    except OSError as error:
        with contextlib.suppress(ProcessLookupError):  # it has ended by itself
            signal.pidfd_send_signal(pidfd, signal.SIGKILL)
        supervisor.send(f"failed to report a new sandbox: {error.strerror}".encode())
    finally:
        os.close(pidfd)


def _clone_process() -> int | None:
    """Copy this process into new namespaces. Returns a pidfd of the copy here, None in the copy.

    `os.fork` with an `unshare` before or after it would leave either the pid namespace or the user
    namespace wrong, or need a second copy. So this makes the system call itself. CPython and glibc
    add two repairs to a fork: of locks that other threads held, and of the thread's id. This
    process has no other threads, and does not use the id. The repairs are made when the sandbox's
    first process forks the code process (`os.fork`), before it receives data of a job.
    """
    pidfd = ctypes.c_int(-1)
    pid = _clone(_CLONE, _FLAGS, None, ctypes.byref(pidfd), None, None)
    if pid < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return pidfd.value if pid else None


def _isolate(request: _SandboxRequest, template: _Template) -> int | None:
    """Isolate this sandbox, in its first process. Returns the listening socket of its proxy. If a
    step fails, sends the reason to the supervisor and ends the process.
    """
    try:
        for member_list in request.member_lists:  # the group is charged from here on
            os.write(member_list, b"0")
            os.close(member_list)
        template.monitor.cpu.clock = request.clock
        template.monitor.locks = template.isolation.apply(
            request.work_bytes, request.work_inodes, request.trees
        )
        proxy_socket = _listen(request.proxy_port) if request.proxy_port else None
        _write_files(template.isolation.fonts, template.fonts)
        os.dup2(1, 2)  # the supervisor does not read the stderr of a sandbox
    except OSError as error:
        os.write(request.agent_socket, wire.BROKEN + str(error).encode()[:MESSAGE_BYTES])
        os._exit(1)
    return proxy_socket


def _listen(port: int) -> int:
    """Listen on the port of the proxy. The worker gets the socket and accepts connections from its
    own network namespace.
    """
    proxy_socket = socket.socket()
    proxy_socket.bind(("127.0.0.1", port))
    proxy_socket.listen(_BACKLOG)
    return proxy_socket.detach()


def _require_no_descriptors(control: int) -> None:
    """Raise RuntimeError if a descriptor is open. A sandbox would inherit it. Later, an object of a
    library would close it by its number, which then belongs to a file of the sandbox.
    """
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(FileNotFoundError):  # the descriptor of this listing
            file = os.readlink(f"/proc/self/fd/{name}")
            if int(name) not in {0, 1, 2, control}:
                raise RuntimeError(f"{file} was left open")


def _read_files(directory: str) -> dict[str, bytes]:
    """The files of a directory, by name; empty if the directory does not exist."""
    files: dict[str, bytes] = {}
    with contextlib.suppress(FileNotFoundError):
        for name in os.listdir(directory):
            with open(os.path.join(directory, name), "rb") as file:
                files[name] = file.read()
    return files


def _write_files(directory: str, files: dict[str, bytes]) -> None:
    """Write files below `/tmp`, which is empty."""
    os.makedirs(directory)  # noqa: PTH103
    for name, data in files.items():
        with open(f"{directory}/{name}", "wb") as file:
            file.write(data)

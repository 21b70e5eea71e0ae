"""A fork server: its children run our programs with all modules loaded.

Start it with `fork_server.py FD PACKAGE LAZY...`. A worker or an API needs two seconds of processor
time to load its modules, and a session starts a hundred of them. Each message on the socket FD
requests a child that becomes `python -m PACKAGE`, with its own environment and log. The message
also contains a socket, which receives the child's pid and later its exit code. When FD closes, the
server ends. LAZY are modules that PACKAGE imports lazily.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import sys
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[3]
MOST_BYTES = 100_000


class Server:
    """A server with one thread and without open files except its sockets. `serve` returns in each
    child.
    """

    def __init__(self, control: int) -> None:
        self._control = control
        self._children: dict[int, tuple[int, int]] = {}
        """pidfd -> pid, and the socket that receives the exit code."""

    def serve(self) -> dict[str, Any]:
        """Fork until the socket closes. Returns in a child, with the program that the child must
        run.
        """
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        while True:
            for descriptor, _ in poll.poll():
                if descriptor != self._control:
                    poll.unregister(descriptor)
                    self._report_exit(descriptor)
                    continue
                order, log, channel = self._receive_order()
                pid = os.fork()
                if pid == 0:
                    self._close_other_files(log, channel)
                    return order
                os.close(log)
                os.write(channel, f"{pid} ".encode())
                pidfd = os.pidfd_open(pid)
                self._children[pidfd] = pid, channel
                poll.register(pidfd, select.POLLIN)

    def _receive_order(self) -> tuple[dict[str, Any], int, int]:
        control = socket.socket(fileno=self._control)
        try:
            data, (log, channel), _, _ = socket.recv_fds(control, MOST_BYTES, 2)
        except ValueError:  # there is no message: the caller has closed the socket
            for pid, _ in self._children.values():
                os.kill(pid, signal.SIGKILL)
            os._exit(0)
        finally:
            control.detach()
        return json.loads(data), log, channel

    def _report_exit(self, pidfd: int) -> None:
        pid, channel = self._children.pop(pidfd)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        with contextlib.suppress(BrokenPipeError):
            os.write(channel, f"{code} ".encode())
        os.close(channel)
        os.close(pidfd)

    def _close_other_files(self, log: int, channel: int) -> None:
        """Close all descriptors of the server and of other children; the child keeps its log."""
        for pidfd, (_, child_channel) in self._children.items():
            os.close(pidfd)
            os.close(child_channel)
        os.close(channel)
        os.close(self._control)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.close(log)


def main(control: int, package: str, *lazy: str) -> None:
    """Load the modules and serve; in a child, become the program."""
    sys.path[0] = str(REPOSITORY)  # `python -m` does the same
    # Ctrl-C ends the tests first, and the tests end this server.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for module in (f"{package}.main", *lazy):
        importlib.import_module(module)
    gc.collect()
    gc.freeze()
    order = Server(control).serve()
    gc.unfreeze()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(order["env"])
    if fail_point := os.environ.get("FETTLE_FAIL_POINT"):
        sys.path.append(str(REPOSITORY / "tests"))
        importlib.import_module("support.processes.fail_points").install(fail_point)
    sys.argv = [package]
    runpy.run_module(package, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])

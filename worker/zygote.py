"""Zygote: a copy of a worker from before it began, of which lone jobs' processes are forked (J7).

To load everything anew takes seconds, a fork milliseconds, and most memory is shared. It has one
thread, holds nothing of any job, and ends with its worker; the jobs' own processes live on.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import selectors
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NoReturn, Self

NAME = "fettle-zygote"
ALONE = "fettle-alone"
"""What the process of a lone job is called (`/proc/PID/comm`): its command line is the worker's."""
SIGNALS = frozenset({signal.SIGTERM, signal.SIGINT})
"""Not for the zygote, though a terminal sends them to all; to be let in by whoever drains then."""
_ID_BYTES = 256
_PR_SET_NAME = 15


class Zygote:
    """The worker's side: `control` closes with the worker, and the zygote ends."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control

    @classmethod
    def born(cls, work: Callable[[str], int]) -> Self | None:
        """Fork it. `work(job_id)` is what a process for a job does; it returns the exit code.

        None where that is unsafe: beside other threads, or on another system than Linux.
        """
        if sys.platform != "linux" or len(list(Path("/proc/self/task").iterdir())) > 1:
            return None
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        gc.collect()
        gc.freeze()  # the collector would write to pages that are shared
        before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        if os.fork() == 0:
            ours.close()
            _live(theirs, work)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()
        return cls(ours)

    def ask(self, job_id: str) -> socket.socket:
        """Have a process forked for a job. The socket tells its exit code at its end, or closes
        without where the zygote is lost; a byte sent to it drains that process. Raises OSError.
        """
        ours, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(self._control, [job_id.encode()], [theirs.fileno()])
        return ours


def _live(control: socket.socket, work: Callable[[str], int]) -> NoReturn:
    """The zygote's whole life."""
    try:
        _rename(NAME)
        with contextlib.suppress(EOFError):
            _Nursery(control, work).serve()
    except BaseException:  # noqa: BLE001 - nothing may go on here as if it were the worker
        traceback.print_exc()
    finally:
        os._exit(0)


class _Nursery:
    """What goes on inside the zygote."""

    def __init__(self, control: socket.socket, work: Callable[[str], int]) -> None:
        self._control = control
        self._work = work
        self._selector = selectors.DefaultSelector()
        self._selector.register(control, selectors.EVENT_READ, self._receive)

    def serve(self) -> None:
        """Fork, stop and bury, until the worker is gone: raises EOFError."""
        while True:
            for key, _ in self._selector.select():
                if self._selector.get_map().get(key.fd) is key:
                    key.data()

    def _receive(self) -> None:
        data, fds, _, _ = socket.recv_fds(self._control, _ID_BYTES, 1)
        if not data:
            raise EOFError
        channel = socket.socket(fileno=fds[0])
        try:
            pid = os.fork()
        except OSError:
            channel.close()  # whoever asked loads everything anew, or has it tried again
            return
        if pid == 0:
            self._become(data.decode(), channel)
        pidfd = os.pidfd_open(pid)
        self._selector.register(channel, selectors.EVENT_READ, partial(self._stop, pid, channel))
        self._selector.register(
            pidfd, selectors.EVENT_READ, partial(self._bury, pid, pidfd, channel)
        )

    def _become(self, job_id: str, channel: socket.socket) -> NoReturn:
        """The process of a job, from here to its end. It holds no end of anyone's sockets."""
        code = 1
        try:
            _rename(ALONE)
            channel.close()
            self._let_go()
            code = self._work(job_id)
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 1
        except BaseException:  # noqa: BLE001 - told, and it ends: it must not serve as the zygote
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    def _let_go(self) -> None:
        for key in self._selector.get_map().values():
            if isinstance(key.fileobj, socket.socket):
                key.fileobj.close()
            else:
                os.close(key.fd)
        self._selector.close()

    def _stop(self, pid: int, channel: socket.socket) -> None:
        """Drain it, where its worker says so; where that is gone, let it go on."""
        self._selector.unregister(channel)
        with contextlib.suppress(OSError):
            if channel.recv(1):
                os.kill(pid, signal.SIGTERM)

    def _bury(self, pid: int, pidfd: int, channel: socket.socket) -> None:
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        with contextlib.suppress(KeyError):
            self._selector.unregister(channel)
        self._selector.unregister(pidfd)
        os.close(pidfd)
        with channel, contextlib.suppress(OSError):
            channel.sendall(str(code).encode())


def _rename(name: str) -> None:
    ctypes.CDLL(None).prctl(_PR_SET_NAME, name.encode(), 0, 0, 0)

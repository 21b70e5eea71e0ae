"""TextProcess: computes on untrusted text in a process that a deadline ends.

A text decides how long a lexer or a comparison takes, and a check between two of their steps comes
too late: one step may take minutes, and a thread that computes keeps the interpreter's lock. Ending
a process works at any time.

See ADR 61.
"""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

PROGRAM: Final = Path(__file__).with_name("text_program.py")
START_SECONDS: Final = 20.0
CREDIT_SECONDS: Final = 10.0
"""How long requests may take in a row."""
SHARE: Final = 0.25
"""The part of the time that requests may take after that: pages full of slow texts must not occupy
every thread."""


class _Child:
    """A running `text_program`, at the other end of a socket."""

    def __init__(self) -> None:
        """Start the program. Raises OSError if it does not start."""
        self._socket, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", str(PROGRAM)],  # -P: or `code.py` hides Python's module
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={},
            )
        self.end = weakref.finalize(self, _end, self._process, self._socket)
        self.exchange(b"", START_SECONDS)

    def exchange(self, line: bytes, seconds: float) -> Any:
        """Send a line and read a line of JSON. Raises OSError, also if it is late."""
        until = time.monotonic() + seconds
        try:
            self._socket.settimeout(seconds)
            self._socket.sendall(line)
            return json.loads(self._line(until))
        except BaseException:
            self.end()
            raise

    def _line(self, until: float) -> bytes:
        received = [b""]
        while not received[-1].endswith(b"\n"):
            self._socket.settimeout(max(until - time.monotonic(), 0.001))
            received.append(self._socket.recv(1 << 16))
            if not received[-1]:
                raise OSError("the process has ended")
        return b"".join(received)


class TextProcess:
    """One child process, which starts with the first request. Safe for threads, which wait."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._child: _Child | None = None
        self._credit = CREDIT_SECONDS
        self._counted_at = time.monotonic()

    def ask(self, request: Mapping[str, Any], seconds: float) -> Any:
        """The answer of `text_program`; None if it is late, or earlier requests took too long."""
        if not self._lock.acquire(timeout=seconds):
            return None
        try:
            return self._answer(request, seconds) if self._has_credit() else None
        except OSError:
            self._child = None
            return None
        finally:
            self._lock.release()

    def _answer(self, request: Mapping[str, Any], seconds: float) -> Any:
        if self._child is None:
            self._child = _Child()
        begin = time.monotonic()
        try:
            line = json.dumps({**request, "seconds": seconds}).encode() + b"\n"
            return self._child.exchange(line, seconds)
        finally:
            self._credit -= time.monotonic() - begin

    def _has_credit(self) -> bool:
        now = time.monotonic()
        more = (now - self._counted_at) * SHARE
        self._credit, self._counted_at = min(CREDIT_SECONDS, self._credit + more), now
        return self._credit > 0


@cache
def shared_process() -> TextProcess:
    """The process that all pages of this API process use."""
    return TextProcess()


def _end(process: subprocess.Popen[bytes], connection: socket.socket) -> None:
    connection.close()
    process.kill()
    process.wait()

"""The two ends of the pipes between the supervisor and the test process.

Each report answers a question. The test process announces a test, gets a number that was unknown
before, and puts it into its report. A report that comes twice, unrequested or with another number
is forged, and ends the judging.
"""

from __future__ import annotations

import json
import os
import select
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LINE_BYTES = 256 * 1024
"""Of one report. A character takes up to 12 bytes: \\ud83d\\ude00."""
NUMBER_BYTES = 16


class Silent(Exception):
    """No report came: the process has ended, or its time is used up."""


class Forged(Exception):
    """A message that the test process itself does not send."""


class ReportReader:
    """The supervisor's end. `alive` says whether the test process is still running."""

    def __init__(self, read_fd: int, write_fd: int, alive: Any, until: float) -> None:
        self._read, self._write, self._alive, self._until = read_fd, write_fd, alive, until
        self._buffer = b""

    def next_report(self) -> dict[str, Any]:
        """The next report. Raises Silent or Forged."""
        if self._next() != {"next": True}:
            raise Forged("a report that was not requested")
        number = os.urandom(NUMBER_BYTES).hex()
        try:
            os.write(self._write, number.encode())
        except OSError:
            raise Silent("the test process closed its channel") from None
        said = self._next()
        if said.pop("number", None) != number:
            raise Forged("a report with a number that was not given")
        return said

    def require_no_more(self) -> None:
        """Raises Forged if there is more than one report to a question."""
        if self._buffer or (select.select([self._read], [], [], 0)[0] and os.read(self._read, 1)):
            raise Forged("more than one report to a question")

    def _next(self) -> dict[str, Any]:
        while b"\n" not in self._buffer:
            if len(self._buffer) > LINE_BYTES:
                raise Forged("an endless report")
            self._buffer += self._some()
        line, _, self._buffer = self._buffer.partition(b"\n")
        try:
            said = json.loads(line)
        except ValueError:
            raise Forged("a report that cannot be read") from None
        if not isinstance(said, dict):
            raise Forged("a report that cannot be read")
        return said

    def _some(self) -> bytes:
        while True:
            alive = self._alive()  # checked first, so that its last output is still read
            left = self._until - time.monotonic()
            if left <= 0:
                raise Silent("time")
            ready, _, _ = select.select([self._read], [], [], min(left, 0.05) if alive else 0)
            if ready:
                data = os.read(self._read, LINE_BYTES)
                if not data:
                    raise Silent("the test process closed its channel")
                return data
            if not alive:
                raise Silent("the test process ended")


class Reporter:
    """The test process's end. Functions are bound early, because a test may replace them."""

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self._read_fd, self._write_fd = read_fd, write_fd
        self._read, self._write, self._dumps = os.read, os.write, json.dumps
        self._getpid, self._leave = os.getpid, os._exit
        self._pid, self._number = os.getpid(), ""

    def begin(self) -> None:
        """Request the number of the next report."""
        self._say({"next": True})
        number = b""
        while len(number) < 2 * NUMBER_BYTES:
            number += self._read(self._read_fd, 2 * NUMBER_BYTES - len(number)) or b"-" * 32
        self._number = number.decode("ascii", "replace")

    def send(self, report: dict[str, Any]) -> None:
        """Send the report."""
        number, self._number = self._number, ""
        self._say({**report, "number": number})

    def _say(self, what: dict[str, Any]) -> None:
        if self._getpid() != self._pid:  # a fork of the test process may not report
            self._leave(0)
        data = self._dumps(what).encode() + b"\n"
        while data:
            data = data[self._write(self._write_fd, data) :]

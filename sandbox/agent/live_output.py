"""Sends the end of a run's output to the host while the run goes on."""

from __future__ import annotations

import select

from sandbox.agent import wire


class LiveOutput:
    """The last `wire.LIVE_BYTES` bytes of both outputs together, in the order in which the agent
    has read them.

    The run never waits for the host: if the host reads too slowly, the agent sends fewer messages,
    and each of them has the newest bytes. A run of less than `wire.LIVE_SECONDS` sends none.
    """

    def __init__(self, control: int, started_at: float) -> None:
        self._control, self._next_at = control, started_at + wire.LIVE_SECONDS
        self._tail = bytearray()
        self._has_new_bytes = False
        self._poll = select.poll()
        self._poll.register(control, select.POLLOUT)

    def add(self, data: bytes) -> None:
        """Add bytes of an output."""
        self._tail += data[-wire.LIVE_BYTES :]
        del self._tail[: -wire.LIVE_BYTES]
        self._has_new_bytes = self._has_new_bytes or bool(data)

    def send_if_due(self, now: float) -> None:
        """Send the tail, if it has new bytes, the last message is old enough, and the host reads.

        A writable socket or pipe takes `PIPE_BUF` bytes (4,096) without waiting.
        """
        if not self._has_new_bytes or now < self._next_at:
            return
        if self._poll.poll(0) != [(self._control, select.POLLOUT)]:
            return
        header = f"{wire.LIVE} {len(self._tail)}".encode()
        wire.write_all(self._control, len(header).to_bytes(4, "big") + header + self._tail)
        self._next_at, self._has_new_bytes = now + wire.LIVE_SECONDS, False

"""JobOutputs: the output of a job's runs while they go on, on the channel of the models' tokens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from worker.adapters.tokens import LiveTokens

FIRST_SECONDS = 0.5
"""A run is first sent after this time, because most runs end earlier."""
REPEAT_SECONDS = 1.0
"""A run without new output is sent again after this time, for clients that have connected since."""


@dataclass(frozen=True, slots=True)
class JobOutputs:
    """Implements the port RunOutputs for one job."""

    live: LiveTokens
    job_id: str

    @contextmanager
    def follow(self, run: str, tool: str, command: str) -> Iterator[Callable[[str], None]]:
        """See agents.attempt.RunOutputs."""
        followed = _FollowedRun(self, run, tool, command)
        followed.repeat_after(FIRST_SECONDS)
        try:
            yield followed.show
        finally:
            followed.end()


@dataclass(slots=True)
class _FollowedRun:
    """A run in progress. Each message has all that a client shows of it."""

    job: JobOutputs
    run: str
    tool: str
    command: str
    text: str = ""
    messages: int = 0
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)
    started_at: float = 0.0
    timer: asyncio.TimerHandle | None = None

    def __post_init__(self) -> None:
        self.started_at = self.loop.time()

    def repeat_after(self, seconds: float) -> None:
        """Send the run after this time, unless it is sent earlier."""
        if self.timer is not None:
            self.timer.cancel()
        self.timer = self.loop.call_later(seconds, self._send)

    def show(self, text: str) -> None:
        """The run has written output; these are its last lines."""
        self.text = text
        self._send()

    def end(self) -> None:
        """Send no more."""
        if self.timer is not None:
            self.timer.cancel()
        self.job.live.drop(self.job.job_id, self.run)

    def _send(self) -> None:
        self.messages += 1
        message: dict[str, str | int | float] = {
            "call": self.run,
            "role": self.tool,
            "part": "output",
            "text": self.text,
            "try": self.messages,
            "command": self.command,
            "seconds": round(self.loop.time() - self.started_at, 1),
        }
        self.job.live.send(self.job.job_id, message)
        self.repeat_after(REPEAT_SECONDS)

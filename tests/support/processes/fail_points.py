"""Fail points: named points at which a process of a test kills itself, as `kill -9` would.

`FETTLE_FAIL_POINT=NAME` or `NAME:N` selects a fail point. The process dies when it reaches the
point for the Nth time. With `NAME:N:stuck`, its thread hangs at the point forever instead.
`install` puts the fail points around the writes of the store; the product has no code for them.

Each fail point is directly before or after a write, because a crash between two writes has the same
effect.

| before_, after_ | the write |
|---|---|
| claim | the lease; before it, a worker has taken the hint, but no worker has the job |
| journal | a finished model call or tool call, with its cost and its events |
| start | the commit and the files that a job starts with, on an earlier change |
| checkpoint | a step of the graph, or the result of one of its nodes |
| pause | the review that asks a person |
| release | the job returns to the queue: a drain, a retry, an expired lease |
| end | the final state |
| accept, decision, cancel | a new job, a person's decision, a cancel, in the API |
| hint | the hint to the workers; after it, the caller still has no answer |
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from jobs.model.record import JobRecord, Status
from jobs.queue.hints import Hints
from jobs.store import Writes
from jobs.store.redis_store import RedisStore
from jobs.transitions.change import Change

NAMED = "FETTLE_FAIL_POINT"
_TESTS = Path(__file__).resolve().parents[2]
INHERITED = f"{Path(__file__).parent / 'mortal'}:{_TESTS}:{_TESTS.parent}"
"""The module path of the processes that a process with a fail point starts. Their interpreters
install the fail point, too.
"""
_STEPS = {
    Status.RUNNING: "claim",
    Status.AWAITING_REVIEW: "pause",
    Status.QUEUED: "release",
}


class FailPoint:
    """One fail point, by its name. Points come in pairs, before and after a write."""

    def __init__(self, fail_point: str) -> None:
        self._name, number, manner = [*fail_point.split(":"), "1", ""][:3]
        self._passes_left = int(number)
        self._stuck = manner == "stuck"

    @contextmanager
    def surround(self, *done: str) -> Iterator[None]:
        """Reach `before_` and `after_` each write; if the write raises, skip the second point."""
        for step in done:
            self._reach(f"before_{step}")
        yield
        for step in done:
            self._reach(f"after_{step}")

    def _reach(self, name: str) -> None:
        if name != self._name:
            return
        self._passes_left -= 1
        if self._passes_left == 0 and self._stuck:
            threading.Event().wait()
        elif self._passes_left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


def install(fail_point: str) -> None:
    """Let this process, and every process that it starts, die at the fail point."""
    os.environ["PYTHONPATH"] = INHERITED
    point = FailPoint(fail_point)
    create, commit, write = RedisStore.create, RedisStore.commit, RedisStore.write
    send = Hints.hint

    async def dying_create(self: RedisStore, *args: Any, **kwargs: Any) -> Any:
        with point.surround("accept"):
            return await create(self, *args, **kwargs)

    async def dying_commit(
        self: RedisStore, before: JobRecord, change: Change, **kwargs: Any
    ) -> bool:
        with point.surround(*_passed_points(before.status, change.after.status)):
            return await commit(self, before, change, **kwargs)

    async def dying_write(self: RedisStore, job_id: str, epoch: int, writes: Writes) -> None:
        with ExitStack() as both:
            if writes.journal:
                both.enter_context(point.surround("journal"))
            if writes.continues is not None:
                both.enter_context(point.surround("start"))
            if writes.commands:
                both.enter_context(point.surround("checkpoint"))
            await write(self, job_id, epoch, writes)

    def dying_hint(self: Hints, record: JobRecord) -> None:
        with point.surround("hint"):
            send(self, record)

    for kind, methods in (
        (RedisStore, {"create": dying_create, "commit": dying_commit, "write": dying_write}),
        (Hints, {"hint": dying_hint}),
    ):
        for name, method in methods.items():
            setattr(kind, name, method)


def _passed_points(before: Status, after: Status) -> Iterator[str]:
    """The fail points that a change of a job passes, in a worker and in the API."""
    yield "cancel" if after is Status.CANCELLED else "decision"
    if before is not after:
        yield "end" if after.final else _STEPS[after]

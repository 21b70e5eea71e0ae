"""`python fill.py WAITING EVENTS`: puts jobs on record in the Redis of `FETTLE_REDIS_URL`.

It prints the id of a job with EVENTS events; WAITING other jobs wait for a person. Each side of the
benchmark runs this file with its own packages, so it only uses calls that older releases have.
"""

from __future__ import annotations

import asyncio
import os
import sys
from typing import Any

from jobs.model.events import NewEvent
from jobs.model.record import JobRecord
from jobs.model.review import Review, ReviewKind
from jobs.model.spec import JobSpec
from jobs.service import Operations, Submission
from jobs.store import LeaseRef, Writes
from jobs.store.redis_store import RedisStore, connect

TENANT = "default"
EVENTS_AT_ONCE = 200


def _text(text: str) -> dict[str, Any]:
    return {"text": text, "dropped_bytes": 0, "digest": None}


def _run(number: int) -> dict[str, Any]:
    code = f"from solution import search\n\nassert search(range({number}), 1) == 1\nprint('ok')\n"
    return {
        "id": f"run-{number}",
        "number": number,
        "revision": 1,
        "by": "executor",
        "code": _text(code),
        "end": "exited",
        "exit_code": 0,
        "signal": None,
        "stdout": _text("ok\n"),
        "stderr": _text(""),
        "seconds": 0.1,
        "succeeded": True,
        "artifacts": [],
        "refused": [],
    }


def _event(number: int) -> NewEvent:
    """Calls of a model, of tools and runs in turn, as a long job has them."""
    kind, data = (
        ("tool_used", {"tool": "read_file", "path": "solution.py", "ok": True}),
        ("model_called", {"call": f"c{number}", "role": "executor", "model": "groq:m"}),
        ("run_finished", _run(number // 3 + 1)),
    )[number % 3]
    if kind == "model_called":
        data |= {"input_tokens": 900, "output_tokens": 90, "cost_usd": "0.001", "seconds": 1.0}
    return NewEvent(f"bench|{number}", kind, data)


def _payload(number: int) -> dict[str, Any]:
    work = {"plan": ["one", "two"], "answer": "Done: **search** works.", "runs": [_run(1)]}
    history = {"critiques": [], "decisions": [], "artifacts": [], "revision": 1 + number % 3}
    return {**work, **history, "unproven": None if number % 4 else "nothing has been run"}


async def _started(operations: Operations, task: str) -> JobRecord:
    spec = JobSpec(task, review=True, labels=("bench",))
    submitted = await operations.submit(TENANT, spec, by="bench", key_id="k-bench")
    assert isinstance(submitted, Submission)
    claimed = await operations.claim(submitted.record.id, "bench-worker")
    assert isinstance(claimed, JobRecord)
    return claimed


async def fill(redis_url: str, waiting: int, events: int) -> str:
    """Put the jobs on record; returns the id of the job with many events."""
    store = RedisStore(connect(redis_url))
    operations = Operations(store, lambda _record: None)
    try:
        for number in range(waiting):
            record = await _started(operations, f"Write search number {number}, and test it.")
            review = Review("r1", ReviewKind.REVIEW, _payload(number), await store.now())
            paused = await operations.pause(LeaseRef(record.id, record.epoch), review)
            assert isinstance(paused, JobRecord), paused
        long = await _started(operations, "Write a long program.")
        for first in range(0, events, EVENTS_AT_ONCE):
            numbers = range(first, min(first + EVENTS_AT_ONCE, events))
            await store.write(long.id, long.epoch, Writes(events=[_event(n) for n in numbers]))
        return long.id
    finally:
        await store.close()


if __name__ == "__main__":
    job_id = asyncio.run(fill(os.environ["FETTLE_REDIS_URL"], *map(int, sys.argv[1:])))
    sys.stdout.write(job_id + "\n")

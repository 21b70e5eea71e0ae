"""The jobs of the pages: many short ones, and one with many events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

from benchmarks.pages.deployment import Target
from jobs.blobs.directory import DirectoryBlobs, digest_of
from jobs.model.events import NewEvent
from jobs.model.record import JobRecord, Result
from jobs.model.spec import JobSpec
from jobs.service import Operations, Submitted
from jobs.store import Charge, LeaseRef, Writes
from jobs.store.redis_store import RedisStore, connect

TENANT = "default"
RUN_EVERY = 10
SHOWN = 4_000
TOGETHER = 64
STORE_SECONDS = 20.0
TASKS = ("Sort a list", "Parse a log", "Draw a plot", "Fix a function", "Count the words")
CODE = "import random\n\n\ndef shuffled(items: list[int]) -> list[int]:\n    return items\n" * 8


async def many(target: Target, count: int) -> None:
    """Write so many finished jobs, each with a label and a model call."""
    async with _operations(target) as operations:
        for start in range(0, count, TOGETHER):
            batch = range(start, min(start + TOGETHER, count))
            await asyncio.gather(*(_short(operations, number) for number in batch))


async def long(target: Target, events: int, output_bytes: int) -> str:
    """Write a job with so many events and so much output of its runs; returns its id."""
    runs = events // RUN_EVERY
    blobs = DirectoryBlobs(target.data / "blobs")
    line = "the same line of output, again and again\n"
    whole = (line * (output_bytes // runs // len(line))).encode()
    digest = await blobs.put(whole)
    async with _operations(target) as operations:
        held = await _begun(operations, JobSpec("Work for a long time", review=True))
        facts = list(_story(events - 3, {"text": whole[:SHOWN].decode(), "digest": digest}))
        for start in range(0, len(facts), 100):
            writes = Writes(events=facts[start : start + 100], blobs=[digest])
            await operations.store.write(held.job_id, held.epoch, writes)
        await operations.succeed(held, Result("It took a while.", "critic"), "a long job")
    return held.job_id


def _story(count: int, printed: dict[str, Any]) -> Iterator[NewEvent]:
    for number in range(count):
        if number % RUN_EVERY == RUN_EVERY - 1:
            yield NewEvent(f"run:{number}", "run_finished", _run(number // RUN_EVERY + 1, printed))
        else:
            call = {
                "call": f"c{number}",
                "role": "executor",
                "model": "groq:llama-3.3-70b-versatile",
                "input_tokens": 1_200,
                "output_tokens": 150,
                "cost_usd": "0.0008",
                "seconds": 0.6,
            }
            yield NewEvent(f"call:{number}", "model_called", call)


def _run(number: int, printed: dict[str, Any]) -> dict[str, Any]:
    nothing = {"text": "", "dropped_bytes": 0, "digest": None}
    return {
        "id": f"r{number}",
        "number": number,
        "revision": 1,
        "by": "executor",
        "code": {**nothing, "text": CODE},
        "end": "exited",
        "exit_code": 0,
        "signal": None,
        "stdout": {**nothing, **printed},
        "stderr": nothing,
        "seconds": 0.4,
        "succeeded": True,
        "failure": None,
        "artifacts": [],
        "refused": [],
    }


async def _short(operations: Operations, number: int) -> None:
    task = f"{TASKS[number % len(TASKS)]}, number {number}"
    held = await _begun(operations, JobSpec(task, labels=(f"team-{number % 7}",)))
    paid = Charge(f"c{number}", "executor", "groq:m", 900, 120, "0.0004")
    writes = Writes(
        events=[NewEvent("a", "answered", {"revision": 1, "text": digest_of(task.encode())})],
        charges=[paid],
    )
    await operations.store.write(held.job_id, held.epoch, writes)
    await operations.succeed(held, Result("done", "critic"), "done")


async def _begun(operations: Operations, spec: JobSpec) -> LeaseRef:
    submitted = await operations.submit(TENANT, spec, by="bench")
    assert isinstance(submitted, Submitted)
    claimed = await operations.claim(submitted.record.id, "bench")
    assert isinstance(claimed, JobRecord)
    return LeaseRef(claimed.id, claimed.epoch)


@asynccontextmanager
async def _operations(target: Target) -> AsyncIterator[Operations]:
    store = RedisStore(connect(target.redis_url, seconds=STORE_SECONDS))
    try:
        yield Operations(store, lambda *_: None)
    finally:
        await store.close()

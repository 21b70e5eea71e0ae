"""Messages to a job while its worker is killed, or while it is cancelled."""

from __future__ import annotations

import asyncio
import random

import pytest
from support.processes.scene import TWICE, Scene, Work

from jobs.audit.entries import Actor
from jobs.model.record import Status
from jobs.service import Submission
from jobs.transitions.lifecycle import Refusal
from jobs.transitions.messages import ADDED

ANN = Actor("ann")
TEXT = "Also write a two."
RACES = 100
AT_ONCE = 5
MESSAGES_AT_ONCE = 3


@pytest.mark.invariant("J13")
@pytest.mark.parametrize("point", ["before_journal", "after_journal"])
async def test_a_kill_at_the_call_that_reads_a_message(scene: Scene, point: str) -> None:
    """Journal: plan, first reply, its run, the reply that reads the message."""
    doomed = scene.deployment.worker(fail_point=f"{point}:4")
    await scene.deployment.ready(1)
    job_id = await scene.submit("told", Work(TWICE, seconds=0.5))
    await scene.requests("told", 2)
    sent = await scene.operations.add_message(job_id, TEXT, ANN)
    assert isinstance(sent, Submission)
    await scene.died(doomed)
    await scene.replace_worker()
    await scene.wait_for_success("told")
    counts = [
        sum(TEXT in message.text for message in request.messages)
        for request in scene.requests_by_model["told"]
    ]
    repeated = point == "before_journal"
    assert counts == [0, 0, *[1] * (scene.work["told"].calls - 2 + repeated)]
    events = await scene.operations.store.events(job_id)
    readings = [event.data for event in events if event.kind == "messages_read"]
    assert readings == [
        {"messages": [1], "role": "executor"},
        {"messages": [1], "role": "critic"},
    ]
    verdict = await scene.judge()
    assert (verdict.repeated_in_flight, verdict.repeated_paid_calls) == (repeated, 0)


@pytest.mark.invariant("J11")
async def test_messages_race_against_a_cancel(scene: Scene) -> None:
    """A message is on record before the end, or it is refused because of the end."""
    chance = random.Random(3)
    gate = asyncio.Semaphore(AT_ONCE)
    races = (_race(scene, number, chance, gate) for number in range(RACES))
    outcomes = await asyncio.gather(*races)
    accepted = sum(outcomes)
    assert 0 < accepted < RACES * MESSAGES_AT_ONCE
    await scene.judge()


async def _race(scene: Scene, number: int, chance: random.Random, gate: asyncio.Semaphore) -> int:
    """The number of accepted messages of one race."""
    async with gate:
        return await _race_at_once(scene, number, chance)


async def _race_at_once(scene: Scene, number: int, chance: random.Random) -> int:
    name = f"raced-{number}"
    job_id = await scene.submit(name)
    await scene.operations.claim(job_id, "host:1:test")

    async def send() -> bool:
        await asyncio.sleep(chance.uniform(0, 0.1))
        answer = await scene.operations.add_message(job_id, TEXT, ANN)
        if isinstance(answer, Refusal):
            assert (answer.code, answer.status) == ("final", Status.CANCELLED)
        return isinstance(answer, Submission)

    async def cancel() -> bool:
        await asyncio.sleep(chance.uniform(0, 0.05))
        return await scene.cancel(name)

    cancelled, *sent = await asyncio.gather(cancel(), *(send() for _ in range(MESSAGES_AT_ONCE)))
    assert cancelled
    events = await scene.operations.store.events(job_id)
    assert events[-1].kind == "cancelled"
    numbers = [event.data["number"] for event in events if event.kind == ADDED]
    assert numbers == list(range(1, sum(sent) + 1))
    loaded = await scene.operations.store.load(job_id)
    assert loaded is not None
    assert len(loaded.record.messages) == sum(sent)
    return sum(sent)

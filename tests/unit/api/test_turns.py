"""Turns: a request beyond a limit waits, and a key leaves turns for other keys."""

from __future__ import annotations

import asyncio

from api.auth.limits import Turns


async def test_a_key_waits_for_its_turns_and_does_not_block_other_keys():
    turns, ends, started = Turns(2, 3), asyncio.Event(), []

    async def upload(key_id: str) -> None:
        async with turns.turn(key_id):
            started.append(key_id)
            await ends.wait()

    uploads = [asyncio.create_task(upload(key)) for key in ("slow", "slow", "slow", "b", "c")]
    while len(started) < 3:
        await asyncio.sleep(0)
    for _ in range(20):  # the third request of `slow`, and `c`, have had time to start
        await asyncio.sleep(0)
    assert started == ["slow", "slow", "b"]
    ends.set()
    await asyncio.gather(*uploads)
    assert sorted(started) == ["b", "c", "slow", "slow", "slow"]

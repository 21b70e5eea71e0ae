from __future__ import annotations

import asyncio

import pytest

from agents.executor.tool_call_sequencer import ToolCallSequencer


async def test_calls_go_in_the_order_of_the_reply_however_they_start() -> None:
    turn, made = ToolCallSequencer(), []

    async def call(index: int) -> None:
        async with turn.of("reply", index):
            made.append(f"begin {index}")
            await asyncio.sleep(0.001)
            made.append(f"end {index}")

    await asyncio.gather(*(call(index) for index in (2, 0, 3, 1)))
    assert made == [f"{word} {index}" for index in range(4) for word in ("begin", "end")]


async def test_calls_behind_a_failed_one_fail_with_it_and_are_not_made() -> None:
    turn, made = ToolCallSequencer(), []

    async def call(index: int) -> None:
        async with turn.of("reply", index):
            made.append(index)
            if index == 1:
                raise ConnectionError("gone")

    ended = await asyncio.gather(*(call(index) for index in (3, 2, 1, 0)), return_exceptions=True)
    assert made == [0, 1]
    assert [type(each) for each in ended] == [
        ConnectionError,
        ConnectionError,
        ConnectionError,
        type(None),
    ]


async def test_replies_do_not_wait_for_each_other() -> None:
    turn = ToolCallSequencer()
    async with turn.of("first"):
        pass
    async with asyncio.timeout(1), turn.of("second"):
        pass
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01), turn.of("third", 1):
            pass

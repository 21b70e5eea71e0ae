"""The tokens of models are sent in batches, and only if a listener exists."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping

import pytest
from redis.asyncio import Redis

from agents.models.streams import Chunk
from jobs.errors import StoreUnavailable
from jobs.redis.channels import Listener, TokenChannel
from jobs.redis.connection import connect
from worker.adapters import tokens
from worker.adapters.tokens import LiveTokens


class Counted(TokenChannel):
    """Counts the sent batches; raises an error on request."""

    def __init__(self, redis: Redis, listener: Listener) -> None:
        super().__init__(redis, listener)
        self.sent: list[Mapping[str, str]] = []
        self.at: list[float] = []
        self.away = False

    async def publish(self, tokens: Mapping[str, str]) -> frozenset[str]:
        self.sent.append(tokens)
        self.at.append(asyncio.get_running_loop().time())
        if self.away:
            raise StoreUnavailable("away")
        return await super().publish(tokens)


@pytest.fixture
async def channel(redis_url: str) -> AsyncIterator[Counted]:
    redis = connect(redis_url, seconds=20)
    listener = Listener(redis)
    yield Counted(redis, listener)
    await listener.close()
    await redis.aclose()


async def test_pieces_are_joined_and_sent_together(channel: Counted) -> None:
    live = LiveTokens(channel)
    async with channel.subscribe("j1") as queue:
        speech = live.of("j1").of("call-1", "executor")
        speech.begin()
        for word in ("I ", "think ", "so."):
            speech.receive([Chunk("text", word)])
        speech.receive([Chunk("tool", '{"code": ')])
        tokens = json.loads(await queue.get())
    await live.close()
    common = {"call": "call-1", "role": "executor", "try": 1}
    assert tokens == [
        {**common, "part": "text", "text": "I think so."},
        {**common, "part": "tool", "text": '{"code": '},
    ]
    assert len(channel.sent) == 1


async def test_without_a_listener_no_batch_is_sent_for_a_while(
    channel: Counted, monkeypatch
) -> None:
    monkeypatch.setattr(tokens, "BATCH_SECONDS", 0.01)
    monkeypatch.setattr(tokens, "DEAF_SECONDS", 0.2)
    live = LiveTokens(channel)
    speech = live.of("j1").of("call-1", "executor")
    speech.begin()
    while len(channel.sent) < 2:
        speech.receive([Chunk("text", "x")])
        await asyncio.sleep(0.01)
    assert channel.at[1] - channel.at[0] > 0.2
    async with asyncio.timeout(20), channel.subscribe("j1") as queue:
        while queue.empty():
            speech.receive([Chunk("text", "now")])
            await asyncio.sleep(0.01)
        assert "now" in queue.get_nowait()
    await live.close()


async def test_no_tokens_of_a_finished_call_follow_its_event(
    channel: Counted,
) -> None:
    live = LiveTokens(channel)
    over, going = (live.of("j1").of(call, "executor") for call in ("call-1", "call-2"))
    async with channel.subscribe("j1") as queue:
        for speech in (over, going):
            speech.begin()
            speech.receive([Chunk("text", "...")])
        over.end()
        tokens = json.loads(await queue.get())
    await live.close()
    assert [token["call"] for token in tokens] == ["call-2"]

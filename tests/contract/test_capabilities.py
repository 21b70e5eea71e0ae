"""The fleet's record of the capabilities of model servers."""

from __future__ import annotations

import time

import pytest

from agents.models.capabilities.record import (
    REMEMBERED_SECONDS,
    Capabilities,
    CapabilityStore,
    MemoryCapabilities,
)
from jobs.store.redis_store import RedisStore, connect
from worker.adapters.models import RedisCapabilities

MODEL, OTHER = "compatible:qwen3:8b", "groq:small"
LEARNED = Capabilities(
    drop=frozenset({"tool_choice", "tools.strict"}),
    rename={"max_tokens": "max_completion_tokens"},
    max_output_tokens=4_096,
    context_tokens=32_768,
)


@pytest.fixture(params=["memory", "redis"])
def capabilities(request: pytest.FixtureRequest) -> CapabilityStore:
    if request.param == "memory":
        return MemoryCapabilities()
    return RedisCapabilities(RedisStore(connect(request.getfixturevalue("redis_url"))).capabilities)


async def test_a_model_has_the_record_that_was_learned_for_it(
    capabilities: CapabilityStore,
) -> None:
    assert await capabilities.read(MODEL) == Capabilities()
    before = time.time()
    await capabilities.write(MODEL, LEARNED)
    record = await capabilities.read(MODEL)
    assert record.changed(learned_at=0.0, expires_at=0.0) == LEARNED
    assert before <= record.learned_at <= time.time()
    assert await capabilities.read(OTHER) == Capabilities()


async def test_lessons_of_two_writers_are_combined(capabilities: CapabilityStore) -> None:
    await capabilities.write(MODEL, Capabilities(drop=frozenset({"temperature"})))
    await capabilities.write(MODEL, Capabilities(drop=frozenset({"tool_choice"})))
    await capabilities.write(MODEL, Capabilities(max_output_tokens=1_000))
    record = await capabilities.read(MODEL)
    assert record.drop == {"temperature", "tool_choice"}
    assert record.max_output_tokens == 1_000


async def test_other_workers_see_a_record_until_it_expires(
    store: RedisStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await RedisCapabilities(store.capabilities).write(MODEL, LEARNED)
    another = RedisCapabilities(store.capabilities)
    assert (await another.read(MODEL)).drop == LEARNED.drop
    after_memory = time.time() + REMEMBERED_SECONDS + 1
    monkeypatch.setattr(time, "time", lambda: after_memory)
    assert await RedisCapabilities(store.capabilities).read(MODEL) == Capabilities()
    assert await store.capabilities.all() == {}


@pytest.mark.parametrize(
    "stored",
    ["", "{", "[]", "null", '{"drop": 3}', '{"drop": ["x"], "max_output_tokens": -1}'],
)
async def test_a_damaged_record_is_learned_anew(store: RedisStore, stored: str) -> None:
    await store.capabilities.put(MODEL, stored)
    capabilities = RedisCapabilities(store.capabilities)
    assert await capabilities.read(MODEL) == Capabilities()
    await capabilities.write(MODEL, LEARNED)
    assert (await capabilities.read(MODEL)).drop == LEARNED.drop


async def test_the_known_fields_of_a_newer_releases_record_are_read(
    store: RedisStore,
) -> None:
    text = f'{{"drop": ["seed"], "sings": true, "expires_at": {time.time() + 60}}}'
    await store.capabilities.put(MODEL, text)
    assert (await RedisCapabilities(store.capabilities).read(MODEL)).drop == {"seed"}


async def test_without_redis_a_process_remembers_its_own_lessons() -> None:
    away = RedisStore(connect("redis://127.0.0.1:1/0", seconds=0.2))
    capabilities = RedisCapabilities(away.capabilities)
    assert await capabilities.read(MODEL) == Capabilities()
    await capabilities.write(MODEL, LEARNED)
    assert (await capabilities.read(MODEL)).drop == LEARNED.drop
    await away.close()

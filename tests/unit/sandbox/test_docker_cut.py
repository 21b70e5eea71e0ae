"""A run whose container ends or falls silent: whose fault it was, by what the engine tells of it.

The engine is one of our own (`scripted_engine`).
"""

from __future__ import annotations

import asyncio
import socket
import struct
from pathlib import Path

import pytest
from support.servers.scripted_engine import CUT, ScriptedEngine, scripted

from sandbox.docker import DockerSandbox, container_events
from sandbox.protocol import Command, End, Limits, RunResult, SandboxUnavailable

HELLO = Command.python("print('hello')")
WORD_SECONDS = 5.0
"""For word that does come, on a machine however busy."""
NO_WORD_SECONDS = 0.2
"""For word that does not: all of it is waited."""


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container_events, "OOM_SECONDS", 0.02)
    monkeypatch.setattr(container_events, "END_SECONDS", WORD_SECONDS)


async def ended(
    engine: ScriptedEngine, backend: DockerSandbox, *words: tuple[str, str | None] | None
) -> RunResult:
    """A run each of whose tries ends with its streams, and these words of the engine's."""
    run = asyncio.create_task(backend.run(HELLO, Limits()))
    for word in words:
        container = await engine.orders.get()
        container_events.END_SECONDS = (
            NO_WORD_SECONDS if word is None else WORD_SECONDS
        )  # `quick` undoes it
        engine.containers[container].attached.close()
        if word is not None:
            engine.tell(container, word[0], **({"exitCode": word[1]} if word[1] else {}))
    return await run


@pytest.mark.parametrize("code", ["137", "1", None])
async def test_a_container_that_was_killed_is_its_codes_doing(
    tmp_path: Path, code: str | None
) -> None:
    async with scripted(tmp_path / "s") as engine:
        backend = DockerSandbox(engine=engine.host, pool_size=0)
        assert (await ended(engine, backend, ("die", code))).end is End.KILLED
        await backend.close()


@pytest.mark.parametrize("word", [("die", "0"), None])
async def test_one_that_ended_in_good_order_or_not_at_all_was_cut_off(
    tmp_path: Path, word: tuple[str, str] | None
) -> None:
    async with scripted(tmp_path / "s") as engine:
        backend = DockerSandbox(engine=engine.host, pool_size=0)
        assert (await ended(engine, backend, word, ("die", "137"))).end is End.KILLED
        with pytest.raises(SandboxUnavailable, match="connection to a run's container was cut"):
            await ended(engine, backend, word, word)
        assert engine.asked.count("events") == 1  # the engine was not taken for lost
        await backend.close()


async def test_an_engine_that_ends_while_one_is_made_is_reported_as_lost(tmp_path: Path) -> None:
    async with scripted(tmp_path / "s") as engine:
        backend = DockerSandbox(engine=engine.host, pool_size=0)
        starting = engine.gate("start", late=True)
        run = asyncio.create_task(backend.run(HELLO, Limits()))
        await starting.reached.wait()
        engine.gate("ping", answer=CUT).opened.set()
        engine.gate("remove", answer=CUT).opened.set()
        (held,) = engine.containers.values()
        held.attached.close()
        starting.opened.set()
        with pytest.raises(SandboxUnavailable, match="no Docker engine answers"):
            await run
        await backend.close()


@pytest.mark.parametrize("reset", [False, True])
async def test_one_that_stood_ready_and_was_cut_off_is_not_used(reset: bool) -> None:
    async with scripted(None) as engine:
        backend = DockerSandbox(engine=engine.host, pool_size=1)
        await backend.warmed()
        (first,) = engine.containers
        ((ready, _),) = backend._pool._ready
        attached = engine.containers[first].attached
        if reset:
            there = attached.get_extra_info("socket")
            there.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        attached.transport.abort()
        async with asyncio.timeout(WORD_SECONDS):
            while not ready.lost:
                await asyncio.sleep(0)
            run = asyncio.create_task(backend.run(HELLO, Limits()))
            assert await engine.orders.get() != first
        assert engine.asked.count("ping") == 1  # it was not tried first, and found out to be cut
        run.cancel()
        await asyncio.wait({run})
        await backend.close()

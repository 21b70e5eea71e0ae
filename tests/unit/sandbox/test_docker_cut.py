"""A run whose container ends or falls silent: whose fault it was, by what the engine tells of it.

The engine is one of our own (`scripted_engine`).
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from support.servers.scripted_engine import ScriptedEngine, scripted

from sandbox.docker import DockerSandbox
from sandbox.docker import container as docker_container
from sandbox.protocol import Command, End, Limits, RunResult, SandboxUnavailable

HELLO = Command.python("print('hello')")
WORD_SECONDS = 5.0
"""For word that does come, on a machine however busy."""
NO_WORD_SECONDS = 0.2
"""For word that does not: all of it is waited."""


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docker_container, "OOM_SECONDS", 0.02)
    monkeypatch.setattr(docker_container, "END_SECONDS", WORD_SECONDS)


async def ended(
    engine: ScriptedEngine, backend: DockerSandbox, *words: tuple[str, str | None] | None
) -> RunResult:
    """A run each of whose tries ends with its streams, and these words of the engine's."""
    run = asyncio.create_task(backend.run(HELLO, Limits()))
    for word in words:
        container = await engine.orders.get()
        docker_container.END_SECONDS = (
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

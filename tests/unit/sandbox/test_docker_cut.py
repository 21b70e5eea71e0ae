"""A run in a container that ends or is silent: the engine's events decide whether the code or the
connection was the cause.

The engine is a test double (`scripted_engine`).
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
EVENT_SECONDS = 5.0
"""The wait in seconds for an event that arrives, even on a busy machine."""
NO_EVENT_SECONDS = 0.2
"""The wait in seconds for an event that never arrives: the test needs the full time."""


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docker_container, "OOM_SECONDS", 0.02)
    monkeypatch.setattr(docker_container, "END_SECONDS", EVENT_SECONDS)


async def run_with_ends(
    engine: ScriptedEngine, backend: DockerSandbox, *events: tuple[str, str | None] | None
) -> RunResult:
    """Run; in each attempt, close the container's streams and send one of these events."""
    run = asyncio.create_task(backend.run(HELLO, Limits()))
    for event in events:
        container = await engine.orders.get()
        seconds = NO_EVENT_SECONDS if event is None else EVENT_SECONDS
        docker_container.END_SECONDS = seconds  # `quick` restores it
        engine.containers[container].attached.close()
        if event is not None:
            engine.send_event(container, event[0], **({"exitCode": event[1]} if event[1] else {}))
    return await run


@pytest.mark.parametrize("code", ["137", "1", None])
async def test_a_killed_container_is_a_killed_run(tmp_path: Path, code: str | None) -> None:
    async with scripted(tmp_path / "s") as engine:
        backend = DockerSandbox(engine=engine.host, pool_size=0)
        assert (await run_with_ends(engine, backend, ("die", code))).end is End.KILLED
        await backend.close()


@pytest.mark.parametrize("event", [("die", "0"), None])
async def test_a_container_that_exits_with_0_or_still_runs_was_cut_off(
    tmp_path: Path, event: tuple[str, str] | None
) -> None:
    async with scripted(tmp_path / "s") as engine:
        backend = DockerSandbox(engine=engine.host, pool_size=0)
        assert (await run_with_ends(engine, backend, event, ("die", "137"))).end is End.KILLED
        with pytest.raises(SandboxUnavailable, match="connection to a run's container was cut"):
            await run_with_ends(engine, backend, event, event)
        assert engine.steps.count("events") == 1  # the engine did not count as lost
        await backend.close()

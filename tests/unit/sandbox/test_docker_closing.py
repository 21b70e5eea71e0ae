"""A backend that is closed, or removes containers, while another call is in progress.

The engine is a test double (`scripted_engine`), which stops at a call until the test continues it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import product
from pathlib import Path

import pytest
from support.servers.scripted_engine import CUT, STEPS, ScriptedEngine, scripted

from sandbox.docker import DockerSandbox, session
from sandbox.docker import engine as docker_engine
from sandbox.protocol import MIB, Command, Limits, SandboxUnavailable

HELLO = Command.python("print('hello')")
OTHER = Limits(memory_bytes=100 * MIB)
OPENING = ("ping", "info", "image", "events")
MAKING = ("create", "attach", "start")
ANSWERS = (None, 404, 500, CUT)
WAIT_SECONDS = 10.0
"""A time in seconds: more than a busy machine needs, and less than the timeout of a call."""


@asynccontextmanager
async def backed(
    folder: Path, size: int = 0
) -> AsyncIterator[tuple[ScriptedEngine, DockerSandbox]]:
    """An engine and a backend. At the end, close the backend and check that no task or connection
    remains.
    """
    before = asyncio.all_tasks()
    async with scripted(folder / "engine.sock") as engine:
        backend = DockerSandbox(engine=engine.host, pool_size=size)
        try:
            yield engine, backend
        finally:
            await backend.close()
    while remaining := asyncio.all_tasks() - before:  # the engine's own tasks end soon
        names = {task.get_coro().__qualname__ for task in remaining}
        assert names == {"ScriptedEngine.serve"}, remaining
        await asyncio.wait(remaining, timeout=5)


async def close_at(engine: ScriptedEngine, backend: DockerSandbox, step: str) -> None:
    """Close the backend when the engine stops at this call; continue the call afterwards."""
    gate = engine.gates[step]
    await gate.reached.wait()
    close_task = asyncio.create_task(backend.close())
    await asyncio.wait({close_task}, timeout=0.05)
    gate.opened.set()
    await close_task


@pytest.mark.parametrize(
    ("step", "late", "answer"),
    [
        *((step, False, 500) for step in OPENING),
        *product(MAKING, (False, True), ANSWERS),
    ],
)
async def test_a_run_during_the_close_fails_as_closed(
    tmp_path: Path, step: str, late: bool, answer: int | None
) -> None:
    async with backed(tmp_path) as (engine, backend):
        engine.gate(step, late=late, answer=answer)
        runs = [asyncio.create_task(backend.run(HELLO, Limits())) for _ in range(2)]
        await close_at(engine, backend, step)
        for run in runs:
            with pytest.raises(SandboxUnavailable, match="this sandbox was closed"):
                await run
        assert engine.containers == {}


async def test_no_backend_removes_a_container_that_is_being_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the same backend, which does not know the container's id yet, nor another backend of
    the same process; also if the engine's clock is ahead.
    """
    monkeypatch.setattr(session, "SWEEP_SECONDS", 0.01)
    async with backed(tmp_path) as (engine, backend):
        second = DockerSandbox(engine=engine.host, pool_size=0)
        gate = engine.gate("create", late=True)
        runs = [asyncio.create_task(each.run(HELLO, Limits())) for each in (backend, second)]
        while len(engine.containers) < len(runs):
            await asyncio.sleep(0.001)
        for container in engine.containers.values():
            container.created = 0.0
        engine.steps.clear()
        while engine.steps.count("list") < 6:
            await asyncio.sleep(0.001)
        assert "remove" not in engine.steps
        gate.opened.set()
        while engine.steps.count("start") < 2:
            await asyncio.sleep(0.001)
        await second.close()
        assert "remove" in engine.steps
        assert len(engine.containers) == 1
        await backend.close()
        for run in runs:
            with pytest.raises(SandboxUnavailable, match="this sandbox was closed"):
                await run
        assert engine.containers == {}


@pytest.mark.parametrize("step", [*MAKING, "order", "remove"])
async def test_closing_does_not_wait_for_an_engine_that_hangs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """The containers are in different states: one is being made for a run and one for the pool, one
    has a run, and one is being removed.
    """
    async with backed(tmp_path, 1) as (engine, backend):
        gate = engine.gate(step, late=True) if step in MAKING else None
        run = asyncio.create_task(backend.run(HELLO, Limits()))
        await (gate.reached.wait() if gate else engine.orders.get())
        for other_step in STEPS.keys() - {step if gate else ""}:
            engine.gate(other_step)
        expected_error = pytest.raises(SandboxUnavailable, match="this sandbox was closed")
        if step == "remove":
            run.cancel()
            await engine.gates["remove"].reached.wait()
            expected_error = pytest.raises(asyncio.CancelledError)
        # The engine answered all pings until this point.
        monkeypatch.setattr(docker_engine, "_PING_SECONDS", 0.05)
        async with asyncio.timeout(WAIT_SECONDS):
            await backend.close()
        with expected_error:
            await run


async def test_a_run_that_is_cancelled_at_any_moment_leaves_no_container(tmp_path: Path) -> None:
    async with backed(tmp_path) as (engine, backend):
        for steps in range(400):
            run = asyncio.create_task(backend.run(HELLO, Limits()))
            await turns(steps)
            run.cancel()
            with pytest.raises(asyncio.CancelledError):
                await run
            assert engine.containers == {}, steps
            if engine.orders.qsize() > 3:
                return
        raise AssertionError("no run received its order")


async def test_a_backend_that_is_closed_at_any_moment_leaves_no_container(tmp_path: Path) -> None:
    ordered_runs = 0
    for steps in range(0, 400, 4):
        async with backed(tmp_path, steps % 8 // 4) as (engine, backend):
            run = asyncio.create_task(backend.run(HELLO, OTHER))
            await turns(steps)
            await backend.close()
            with pytest.raises(SandboxUnavailable, match="this sandbox was closed"):
                await run
            assert engine.containers == {}, steps
            ordered_runs += not engine.orders.empty()
        if ordered_runs > 3:
            return
    raise AssertionError("no run received its order")


async def turns(number: int) -> None:
    """Let the event loop run this number of turns."""
    for _ in range(number):
        await asyncio.sleep(0)

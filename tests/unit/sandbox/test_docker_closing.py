"""A backend that is closed, or sweeps, in the very moment when something else is under way.

The engine is one of our own (`scripted_engine`), which stops there until it is let go on.
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
"""Much more than a busy machine needs, and much less than a call may take that is waited for."""


@asynccontextmanager
async def backed(
    socket_directory: Path, size: int = 0
) -> AsyncIterator[tuple[ScriptedEngine, DockerSandbox]]:
    """An engine and a backend; at the end it is closed, and has no task and no connection left."""
    before = asyncio.all_tasks()
    async with scripted(socket_directory / "engine.sock") as engine:
        backend = DockerSandbox(engine=engine.host, pool_size=size)
        try:
            yield engine, backend
        finally:
            await backend.close()
    while remaining_tasks := asyncio.all_tasks() - before:  # the engine's own are at their end
        assert all(
            task.get_coro().__qualname__ == "ScriptedEngine.serve" for task in remaining_tasks
        ), remaining_tasks
        await asyncio.wait(remaining_tasks, timeout=5)


async def closed_at(engine: ScriptedEngine, backend: DockerSandbox, step: str) -> None:
    """Close it when the call at this gate has been reached, which goes on only afterwards."""
    gate = engine.gates[step]
    await gate.reached.wait()
    closing = asyncio.create_task(backend.close())
    await asyncio.wait({closing}, timeout=0.05)
    gate.opened.set()
    await closing


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
        await closed_at(engine, backend, step)
        for run in runs:
            with pytest.raises(SandboxUnavailable, match="this sandbox was closed"):
                await run
        assert engine.containers == {}


async def test_one_that_is_being_made_is_swept_by_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However old it is by an engine's clock that was put forward meanwhile, and although its own
    worker does not know its name yet; nor by another backend of the same process.
    """
    monkeypatch.setattr(session, "SWEEP_SECONDS", 0.01)
    async with backed(tmp_path) as (engine, backend):
        other_backend = DockerSandbox(engine=engine.host, pool_size=0)
        making = engine.gate("create", late=True)
        runs = [
            asyncio.create_task(backend_or_step.run(HELLO, Limits()))
            for backend_or_step in (backend, other_backend)
        ]
        while len(engine.containers) < len(runs):
            await asyncio.sleep(0.001)
        for gate in engine.containers.values():
            gate.created = 0.0
        engine.asked.clear()
        while engine.asked.count("list") < 6:
            await asyncio.sleep(0.001)
        assert "remove" not in engine.asked
        making.opened.set()
        while engine.asked.count("start") < 2:
            await asyncio.sleep(0.001)
        await other_backend.close()
        assert "remove" in engine.asked
        assert len(engine.containers) == 1
        await backend.close()
        for run in runs:
            with pytest.raises(SandboxUnavailable, match="this sandbox was closed"):
                await run
        assert engine.containers == {}


@pytest.mark.parametrize("step", [*MAKING, "order", "remove"])
async def test_an_engine_that_hangs_is_not_waited_for_when_closing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    """Whatever is under way with it: a container that is made for a run and one for the pool, one
    with a run in it, one that is removed.
    """
    async with backed(tmp_path, 1) as (engine, backend):
        gate = engine.gate(step, late=True) if step in MAKING else None
        run = asyncio.create_task(backend.run(HELLO, Limits()))
        await (gate.reached.wait() if gate else engine.orders.get())
        for backend_or_step in STEPS.keys() - {step if gate else ""}:
            engine.gate(backend_or_step)
        expected_error = pytest.raises(SandboxUnavailable, match="this sandbox was closed")
        if step == "remove":
            run.cancel()
            await engine.gates["remove"].reached.wait()
            expected_error = pytest.raises(asyncio.CancelledError)
        monkeypatch.setattr(
            docker_engine, "_PING_SECONDS", 0.05
        )  # all that went before was answered
        async with asyncio.timeout(WAIT_SECONDS):
            await backend.close()
        with expected_error:
            await run


async def test_cancelled_at_any_moment_a_run_leaves_nothing(tmp_path: Path) -> None:
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
        raise AssertionError("no run came so far as to be given its order")


async def test_closed_at_any_moment_it_leaves_nothing(tmp_path: Path) -> None:
    ordered = 0
    for steps in range(0, 400, 4):
        async with backed(tmp_path, steps % 8 // 4) as (engine, backend):
            run = asyncio.create_task(backend.run(HELLO, OTHER))
            await turns(steps)
            await backend.close()
            with pytest.raises(SandboxUnavailable, match="this sandbox was closed"):
                await run
            assert engine.containers == {}, steps
            ordered += not engine.orders.empty()
        if ordered > 3:
            return
    raise AssertionError("no run came so far as to be given its order")


async def turns(number: int) -> None:
    """So many turns of the event loop."""
    for _ in range(number):
        await asyncio.sleep(0)

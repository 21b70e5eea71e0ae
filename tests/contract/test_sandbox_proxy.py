"""The contract of every backend for a run with a proxy: one port, which the caller answers."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import sys
import time
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from support.servers import docker_engine as engines

from sandbox import policy
from sandbox.docker import DockerSandbox
from sandbox.local import LocalSandbox
from sandbox.protocol import MIB, PROXY_PORT, Command, ConnectionHandler, End, Limits, Sandbox

PYTHON = Path(sys.prefix) / "sandbox" / "bin" / "python"
QUICK = Limits(wall_seconds=60.0)
CALL = f"""
import socket
def call(said=b''):
    with socket.create_connection(('127.0.0.1', {PROXY_PORT})) as made:
        made.sendall(said)
        made.shutdown(socket.SHUT_WR)
        return made.makefile('rb').read()
"""

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["local", *engines.BACKENDS])
async def sandbox(request: pytest.FixtureRequest) -> AsyncIterator[Sandbox]:
    backend: LocalSandbox | DockerSandbox = LocalSandbox(PYTHON)
    if request.param == "docker":
        host = request.getfixturevalue("docker_engine").host
        backend = DockerSandbox(engines.IMAGE, engine=host)
    yield backend
    await backend.close()


def python(code: str, proxy: ConnectionHandler | None) -> Command:
    return Command(("python", "-c", CALL + code), proxy=proxy)


async def echo(reader: StreamReader, writer: StreamWriter) -> None:
    writer.write(b"heard " + await reader.read())
    await writer.drain()


async def test_each_connection_is_answered_by_the_caller(sandbox: Sandbox) -> None:
    code = "print([call(b'%d' % number) for number in range(3)])"
    result = await sandbox.run(python(code, echo), QUICK)
    assert result.stdout.text == "[b'heard 0', b'heard 1', b'heard 2']\n", result.stderr


async def test_much_data_passes_in_both_directions_at_once(sandbox: Sandbox) -> None:
    data = bytes(range(256)) * 4096 * 8

    async def send_back(reader: StreamReader, writer: StreamWriter) -> None:
        while part := await reader.read(1 << 16):
            writer.write(part)
            await writer.drain()

    code = f"""
import hashlib, threading
data = bytes(range(256)) * 4096 * 8
made = socket.create_connection(('127.0.0.1', {PROXY_PORT}))
def send():
    made.sendall(data)
    made.shutdown(socket.SHUT_WR)
threading.Thread(target=send).start()
print(hashlib.sha256(made.makefile('rb').read()).hexdigest())
"""
    result = await sandbox.run(python(code, send_back), QUICK)
    assert result.stdout.text.strip() == hashlib.sha256(data).hexdigest(), result.stderr


async def test_no_other_port_is_open_and_none_without_a_proxy(sandbox: Sandbox) -> None:
    code = f"""
sockets = [line.split() for kind in ('tcp', 'tcp6') for line in open('/proc/net/' + kind)]
print([int(fields[1].split(':')[1], 16) for fields in sockets if fields[3] == '0A'])
print(socket.socket().connect_ex(('127.0.0.1', {PROXY_PORT})))
"""
    with_one = await sandbox.run(python(code, echo), QUICK)
    assert with_one.stdout.text == f"[{PROXY_PORT}]\n0\n", with_one.stderr
    without = await sandbox.run(python(code, None), QUICK)
    assert without.stdout.text == f"[]\n{errno.ECONNREFUSED}\n", without.stderr


async def test_concurrent_runs_have_separate_proxies(sandbox: Sandbox) -> None:
    both = asyncio.Barrier(2)

    async def read_name(name: bytes) -> str:
        async def answer(_: StreamReader, writer: StreamWriter) -> None:
            await both.wait()  # neither run ends before both are connected
            writer.write(name)

        result = await sandbox.run(python("print(call().decode())", answer), QUICK)
        return result.stdout.text

    assert await asyncio.gather(read_name(b"one"), read_name(b"two")) == ["one\n", "two\n"]


async def test_a_limited_number_of_connections_is_answered_at_a_time(sandbox: Sandbox) -> None:
    at_once = most = 0

    async def answer(reader: StreamReader, writer: StreamWriter) -> None:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await echo(reader, writer)
        await asyncio.sleep(0.01)
        at_once -= 1

    code = """
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(100) as pool:
    said = list(pool.map(call, [b'x'] * 200))
print(said.count(b'heard x'))
"""
    limits = Limits(wall_seconds=100.0, processes=128)
    result = await sandbox.run(python(code, answer), limits)
    assert result.stdout.text == "200\n", result.stderr
    assert 1 < most <= 64


async def test_a_failing_handler_ends_only_its_own_connection(sandbox: Sandbox) -> None:
    errors: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, told: errors.append(told))

    async def answer(reader: StreamReader, writer: StreamWriter) -> None:
        if await reader.read() == b"bad":
            raise RuntimeError("no")
        writer.write(b"fine")

    result = await sandbox.run(python("print(call(b'bad'), call())", answer), QUICK)
    asyncio.get_running_loop().set_exception_handler(None)
    assert result.stdout.text == "b'' b'fine'\n", result.stderr
    assert len(errors) == 1


async def test_a_hanging_handler_does_not_delay_the_end_of_the_run(sandbox: Sandbox) -> None:
    cancelled = asyncio.Event()
    let_go = asyncio.Event()

    async def answer(_: StreamReader, writer: StreamWriter) -> None:
        writer.write(b"x")
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            cancelled.set()
            await let_go.wait()  # it even ignores its cancellation

    code = f"socket.create_connection(('127.0.0.1', {PROXY_PORT})).recv(1)"
    started = time.monotonic()
    result = await sandbox.run(python(code, answer), QUICK)
    assert result.succeeded, result.stderr
    assert cancelled.is_set()
    assert time.monotonic() - started < 30
    let_go.set()


async def test_a_cancelled_run_closes_its_connections(sandbox: Sandbox) -> None:
    started, finished = asyncio.Event(), asyncio.Event()

    async def answer(reader: StreamReader, _: StreamWriter) -> None:
        started.set()
        try:
            await reader.read()
        finally:
            finished.set()

    code = f"socket.create_connection(('127.0.0.1', {PROXY_PORT})).recv(1)"
    run = asyncio.create_task(sandbox.run(python(code, answer), QUICK))
    await started.wait()
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    assert finished.is_set()


async def test_uncollected_files_are_not_returned(sandbox: Sandbox) -> None:
    code = "import os; os.unlink('there'); os.symlink('x', 'link'); open('new', 'w').close()"
    command = Command(("python", "-c", code), {"there": b""}, collect=False)
    result = await sandbox.run(command, QUICK)
    assert result.succeeded, result.stderr
    assert (result.changed, result.deleted, result.refused) == ({}, frozenset(), ())


async def test_a_workspace_may_be_as_large_as_its_limits(sandbox: Sandbox) -> None:
    limits = Limits(
        wall_seconds=100.0,
        memory_bytes=1024 * MIB,
        file_bytes=256 * MIB,
        workspace_bytes=512 * MIB,
        workspace_files=40_000,
    )
    code = f"""
import os
for number in range({policy.INODES + 5_000}):
    if number % 20 == 0:
        os.mkdir(f'{{number // 20}}')
    os.close(os.open(f'{{number // 20}}/{{number}}', os.O_CREAT))
with open('large', 'wb') as file:
    for _ in range(250):
        file.write(bytes({MIB}))
print('done')
"""
    command = Command(("python", "-c", code), collect=False)
    result = await sandbox.run(command, limits)
    assert (result.end, result.stdout.text) == (End.EXITED, "done\n"), result

"""An engine over ssh, with a program of our own in the place of `ssh`."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.servers.scripted_engine import scripted

from sandbox.docker import DockerSandbox
from sandbox.protocol import Command, Limits, SandboxUnavailable

HELLO = Command.python("print('hello')")
THROUGH = """
import os, socket, sys, threading
there = socket.socket(socket.AF_UNIX)
there.connect({place!r})
def back():
    while data := there.recv(65536): os.write(1, data)
    os._exit(0)
threading.Thread(target=back).start()
while data := os.read(0, 65536): there.sendall(data)
os._exit(0)
"""


@pytest.fixture
def ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    def does(code: str) -> None:
        program = tmp_path / "bin" / "ssh"
        program.parent.mkdir()
        program.write_text(f"#!{sys.executable} -SE\n{code}")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")

    return does


def children() -> list[str]:
    return Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()


async def test_an_ssh_that_ends_is_an_engine_that_does_not_answer(ssh: Callable) -> None:
    ssh("raise SystemExit(255)")
    backend = DockerSandbox(engine="ssh://me@there")
    for _ in range(2):
        with pytest.raises(SandboxUnavailable, match="no Docker engine answers: ssh://me@there"):
            await backend.run(HELLO, Limits())
    await backend.close()


async def test_each_connection_takes_its_process_with_it(
    ssh: Callable, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    before = set(children())
    place = tmp_path / "engine.sock"
    ssh(THROUGH.format(place=str(place)))
    async with scripted(place) as engine:
        backend = DockerSandbox(engine="ssh://me@there", pool_size=0)
        run = asyncio.create_task(backend.run(HELLO, Limits()))
        await engine.orders.get()
        await backend.close()
        with pytest.raises(SandboxUnavailable, match="this sandbox was closed"):
            await run
        assert engine.containers == {}
        while set(children()) - before:
            await asyncio.sleep(0.01)
    assert [each for each in caplog.records if each.levelno >= logging.ERROR] == []

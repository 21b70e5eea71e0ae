"""A git server over ssh on loopback: asyncssh, and git's restricted shell."""

from __future__ import annotations

import asyncio
import contextlib
import getpass
import os
import subprocess
import threading
from asyncio.subprocess import PIPE
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import asyncssh

_GIT = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}


@dataclass
class _Doing:
    """Runs each command of a client with git."""

    protocol_2: bool
    words: str | None = None
    paused: bool = False
    commands: list[str] = field(default_factory=list)

    async def answer(self, client: asyncssh.SSHServerProcess[bytes]) -> None:
        command = client.command or ""
        self.commands.append(command)
        if self.words is not None:
            client.stderr.write(self.words.encode())
            client.exit(1)
            return
        while self.paused and not client.is_closing():
            await asyncio.sleep(0.02)
        if client.is_closing():
            return
        protocol = client.env.get("GIT_PROTOCOL", "") if self.protocol_2 else ""
        environment = {**os.environ, **_GIT, "GIT_PROTOCOL": protocol}
        git = await asyncio.create_subprocess_exec(
            *("git", "shell", "-c", command), env=environment, stdin=PIPE, stdout=PIPE, stderr=PIPE
        )
        asks = asyncio.create_task(_pass(client.stdin, git.stdin, last=git.stdin.close))
        try:
            await asyncio.gather(_pass(git.stdout, client.stdout), _pass(git.stderr, client.stderr))
            client.exit(await git.wait())
        except OSError:  # the client has disconnected
            pass
        finally:
            asks.cancel()
            if git.returncode is None:
                git.kill()
            await git.communicate()


async def _pass(reader: Any, writer: Any, last: Callable[[], None] = bool) -> None:
    """Pass all bytes on; call `last` at the end."""
    while data := await reader.read(1 << 16):
        writer.write(data)
        await writer.drain()
    last()


@dataclass(frozen=True)
class SshServer:
    """Serves the repositories below `root`, by their folders. The server accepts `key`. `commands`
    are the commands of its clients, in order. `delay_answers` and `refuse_with` have effect until
    their next call.
    """

    root: Path
    folder: Path
    port: int
    commands: list[str]
    _doing: _Doing

    @property
    def authority(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def listed(self) -> str:
        """The line for this host in an operator's list."""
        return f"ssh://{self.authority}"

    @property
    def key(self) -> Path:
        return self.folder / "key"

    @property
    def known_hosts(self) -> Path:
        return self.folder / "known_hosts"

    def url(self, name: str) -> str:
        return f"ssh://{getpass.getuser()}@{self.authority}{self.root / name}"

    def clear_commands(self) -> None:
        self.commands.clear()

    def refuse_with(self, words: str | None) -> None:
        """Refuse every command with these words; without words, accept commands again."""
        self._doing.words = words

    def delay_answers(self, *, on: bool) -> None:
        """Delay the answers to all later commands, or stop delaying."""
        self._doing.paused = on

    def settings(self, key: Path | None = None, more: str = "") -> dict[str, str]:
        """An operator's settings, with this key or another key, and more lines of credentials."""
        key = key or self.key
        file = self.folder / f"credentials-{key.name}"
        file.write_text(f"{self.listed} {key}\n{more}")
        file.chmod(0o600)
        return {
            "repo_hosts": self.listed,
            "repo_credentials": str(file),
            "repo_known_hosts": str(self.known_hosts),
        }

    def write_known_hosts(self, host_key: Path) -> None:
        """Write the file of known hosts, with this key as the host's key."""
        kind, key, *_ = host_key.with_suffix(".pub").read_text().split()
        self.known_hosts.write_text(f"[127.0.0.1]:{self.port} {kind} {key}\n")


def new_key(file: Path, words: str = "") -> Path:
    """Write a key with this password to the file, and its public half to the same folder."""
    argv = ("ssh-keygen", "-q", "-t", "ed25519", "-N", words, "-C", "", "-f", str(file))
    subprocess.run(argv, check=True, stdin=subprocess.DEVNULL)
    return file


@contextlib.contextmanager
def ssh_server(root: Path, *, protocol_2: bool = True) -> Iterator[SshServer]:
    """A server of the repositories below `root`. With `protocol_2`, the server accepts the variable
    that selects git's protocol 2.
    """
    folder = root / ".ssh-server"
    folder.mkdir()
    key = new_key(folder / "key")
    host_key = new_key(folder / "host_key")
    doing = _Doing(protocol_2)
    with _loop() as run:
        listening = run(_listening(host_key, key, doing))
        server = SshServer(root, folder, listening.get_port(), doing.commands, doing)
        server.write_known_hosts(host_key)
        try:
            yield server
        finally:
            run(_closed(listening))


async def _listening(host_key: Path, key: Path, doing: _Doing) -> asyncssh.SSHAcceptor:
    return await asyncssh.listen(
        *("127.0.0.1", 0),
        server_host_keys=[str(host_key)],
        authorized_client_keys=str(key.with_suffix(".pub")),
        process_factory=doing.answer,
        encoding=None,
    )


async def _closed(listening: asyncssh.SSHAcceptor) -> None:
    """End the server and its running commands."""
    listening.close()
    await listening.wait_closed()
    other_tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in other_tasks:
        task.cancel()
    await asyncio.gather(*other_tasks, return_exceptions=True)


@contextlib.contextmanager
def _loop() -> Iterator[Any]:
    """Runs coroutines in a separate event loop, in a thread: synchronous and asynchronous tests
    wait for them.
    """
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, loop).result(30)

    try:
        yield run
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()

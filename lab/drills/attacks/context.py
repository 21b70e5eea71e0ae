"""Attack context: one attack in progress on one sandbox."""

from __future__ import annotations

import asyncio
import os
import secrets
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from lab.drills.attacks.attack import Attack, Probe
from lab.drills.attacks.backends import TriedBackend
from lab.drills.attacks.environment.baseline import BaselineSandbox
from lab.drills.attacks.environment.host import HostEnvironment
from lab.drills.attacks.outcome import Observation
from lab.drills.attacks.probes.program import program, report
from sandbox.protocol import Command, ConnectionHandler, Limits, OutputReceiver, Sandbox

LEFT_SECONDS = 3.0
"""A process of a run that lives longer than this number of seconds after the answer has outlived
the run.
"""


@dataclass(frozen=True, slots=True)
class Context:
    """The objects that a drive works with. `is_control`: a success is expected, to see that it is
    noticed.
    """

    attack: Attack
    sandbox: Sandbox
    host: HostEnvironment
    backend: TriedBackend
    limits: Limits
    is_control: bool = False
    layers: tuple[str, ...] = ()
    """The inputs of each run."""
    proxy: ConnectionHandler | None = None
    """The proxy that answers each run's proxy port (a baseline has none)."""
    mark: str = field(default_factory=lambda: f"mark-{secrets.token_hex(8)}")

    async def run(
        self,
        probe: Probe | None = None,
        *,
        inputs: Mapping[str, Any] | None = None,
        files: Mapping[str, bytes] | None = None,
        limits: Limits | None = None,
        live_output: OutputReceiver | None = None,
    ) -> Observation:
        """Run the attack's probe, or another probe, once; `inputs` adds to its inputs."""
        attack = self.attack
        all_inputs = {**self.host.facts(self.mark), **attack.inputs, **(inputs or {})}
        code = program(probe or attack.probe, all_inputs)
        files = attack.files if files is None else files
        words = ("python", "-c", code)
        command = Command(words, files, attack.stdin, trees=self.layers, proxy=self.proxy)
        return await self.command(replace(command, live_output=live_output), limits or self.limits)

    async def command(self, command: Command, limits: Limits) -> Observation:
        """Run any command once, and observe the processes and contacts that it leaves."""
        started = time.monotonic()
        result = await self.sandbox.run(command, limits)
        seconds = time.monotonic() - started
        if isinstance(self.sandbox, BaselineSandbox):
            survivors = self.sandbox.survivors or marked(self.mark)
        else:
            survivors = await asyncio.to_thread(lingering, self.mark)
        return Observation(
            result=result,
            report=report(result, self.mark),
            seconds=seconds,
            ends=self.attack.ends,
            survivors=survivors,
            contacts=self.host.servers.contacts(self.mark),
        )

    @asynccontextmanager
    async def fresh(self) -> AsyncIterator[Context]:
        """This context with a new backend, for a drive that breaks the backend."""
        sandbox = self.backend.make()
        try:
            yield replace(self, sandbox=sandbox)
        finally:
            await sandbox.close()


def lingering(mark: str) -> tuple[str, ...]:
    """Processes of this machine with the mark that do not end within a moment."""
    until = time.monotonic() + LEFT_SECONDS
    while (processes := marked(mark) or marked(mark)) and time.monotonic() < until:
        time.sleep(0.05)
    return processes


def marked(mark: str) -> tuple[str, ...]:
    """Processes with the mark in the command line or name: a probe gives the mark to its children.

    The function reads /proc directly, because some of these processes live only briefly.
    """
    name, word = mark[:15].encode(), mark.encode()
    processes = []
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            process_name = _read(entry.path, "comm").strip()
            if process_name == name or word in _read(entry.path, "cmdline"):
                state = _read(entry.path, "stat").rpartition(b")")[2].split()[:1]
                if state not in ([b"Z"], [b"X"], []):
                    processes.append(f"pid {entry.name} ({process_name.decode(errors='replace')})")
    return tuple(processes)


def _read(folder: str, name: str) -> bytes:
    try:
        fd = os.open(f"{folder}/{name}", os.O_RDONLY)
    except OSError:
        return b""
    try:
        return os.read(fd, 65_536)
    except OSError:
        return b""
    finally:
        os.close(fd)

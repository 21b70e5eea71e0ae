"""Faults: each fault happens, is written into the log with its target, and is repaired."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping

import redis

from cli.local import redis_server
from lab.drills import process_tree
from lab.drills.chaos.deployment.processes import ChaosDeployment
from lab.drills.chaos.faults.strikes import Strikes, picked
from lab.drills.chaos.faults.tcp_proxy import BLACK_HOLE, PARTITION
from lab.drills.chaos.faults.tcp_proxy import NetworkFault as NetFault
from lab.drills.chaos.oplog import OperationLog
from lab.drills.chaos.schedule import Fault, Kind
from lab.drills.process_tree import Process

SPARED = 2
"""The number of ready workers that must remain."""
SPARE_SECONDS = 45.0
LOOK_SECONDS = 0.1
LATENCY_SECONDS = 0.3
SUPERVISOR = "sandbox.local"


class Faults(Strikes):
    """The faults of one deployment: a method for each `Kind`, with the name of the kind."""

    def __init__(self, deployment: ChaosDeployment, log: OperationLog) -> None:
        super().__init__(log)
        self._deployment = deployment
        self._busy: dict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def strike(self, fault: Fault) -> None:
        """Do a fault until it is repaired. A fault on the same target must be repaired first."""
        target = TARGETS.get(fault.kind)
        async with self._busy[target] if target else contextlib.nullcontext():
            await getattr(self, fault.kind.replace("-", "_"))(fault)

    async def child_kill(self, fault: Fault) -> None:
        """kill -9 of a forked worker: every second time the oldest, which has the most jobs."""
        if workers := await self._spare(self._awake):
            chosen = workers[0] if fault.pick < 0.5 else picked(workers, fault)
            self.kill(fault, chosen, "outlives its worker")

    async def worker_kill(self, fault: Fault) -> None:
        """kill -9 of the worker in a separate process; another is started at once."""
        child = self._deployment.running["worker"]
        if workers := await self._spare(lambda: process_tree.living(child.pid)):
            with self._away("worker"):
                self.kill(fault, workers[0], "outlives its worker")
                await asyncio.to_thread(child.process.wait)
                self._deployment.start("worker")

    async def worker_drain(self, fault: Fault) -> None:
        """SIGTERM: the worker releases its jobs."""
        if workers := self._awake():
            self.signal(fault, picked(workers, fault), signal.SIGTERM)

    async def worker_freeze(self, fault: Fault) -> None:
        """SIGSTOP for longer than the lease."""
        workers = self._awake()
        if len(workers) >= 2:
            seconds = self._deployment.bounds.lease + fault.seconds / 2
            await self.freeze(fault, picked(workers, fault), seconds)

    async def supervisor_kill(self, fault: Fault) -> None:
        """kill -9 of a sandbox supervisor; its worker continues."""
        pids = [p.pid for p in self._awake()] + [self._deployment.running["worker"].pid]
        supervisors = [
            p for pid in pids for p in process_tree.children(pid) if SUPERVISOR in p.command
        ]
        if supervisors:
            self.kill(fault, picked(supervisors, fault), "outlives its supervisor")

    async def api_kill(self, fault: Fault) -> None:
        """kill -9 of the API, and start another at once."""
        await self._api(fault, signal.SIGKILL)

    async def api_stop(self, fault: Fault) -> None:
        """SIGTERM for the API, and start another when it has ended."""
        await self._api(fault, signal.SIGTERM)

    async def redis_kill(self, fault: Fault) -> None:
        """kill -9 of Redis, and start it again with its append-only file."""
        child = self._deployment.running["redis"]
        with self._away("redis"):
            child.signal(signal.SIGKILL)
            self.note(fault, child.pid, blinds=True)
            await asyncio.to_thread(child.process.wait)
            self._deployment.start("redis")
            again = self._deployment.running["redis"]
            await asyncio.to_thread(redis_server.wait_ready, self._deployment.redis, again)
        self.repaired(fault)

    async def redis_freeze(self, fault: Fault) -> None:
        """SIGSTOP, then SIGCONT."""
        child = self._deployment.running["redis"]
        child.signal(signal.SIGSTOP)
        self.note(fault, child.pid, blinds=True)
        try:
            await asyncio.sleep(fault.seconds)
        finally:
            child.signal(signal.SIGCONT)
            self.repaired(fault)

    async def hints_lost(self, fault: Fault) -> None:
        """The broker's database is emptied."""
        with contextlib.suppress(redis.RedisError):  # it is unavailable because of another fault
            await asyncio.to_thread(self._deployment.flush_hints)
            self.note(fault)

    async def net_slow(self, fault: Fault) -> None:
        """Latency between a worker and Redis."""
        await self._net(fault, NetFault(latency_seconds=LATENCY_SECONDS))

    async def net_silent(self, fault: Fault) -> None:
        """Bytes wait, or are lost, between a worker and Redis."""
        await self._net(fault, PARTITION if fault.pick < 0.5 else BLACK_HOLE)

    async def net_reset(self, fault: Fault) -> None:
        """Every connection of a worker to Redis is reset."""
        await asyncio.to_thread(self._deployment.proxy.reset)
        self.note(fault, self._deployment.running["worker"].pid)

    async def _net(self, fault: Fault, kind: NetFault) -> None:
        proxy = self._deployment.proxy
        await asyncio.to_thread(proxy.set, kind)
        self.note(fault, self._deployment.running["worker"].pid)
        try:
            await asyncio.sleep(fault.seconds)
        finally:
            proxy.heal()

    async def _api(self, fault: Fault, signum: signal.Signals) -> None:
        child = self._deployment.running["api"]
        with self._away("api"):
            child.signal(signum)
            self.note(fault, child.pid)
            await asyncio.to_thread(child.process.wait)
            self._deployment.start("api")

    @contextlib.contextmanager
    def _away(self, name: str) -> Iterator[None]:
        self._deployment.stopping.add(name)
        try:
            yield
        finally:
            self._deployment.stopping.discard(name)

    def _awake(self) -> list[Process]:
        return [p for p in self._deployment.workers() if p.pid not in self.frozen]

    async def _spare(self, among: Callable[[], list[Process]]) -> list[Process]:
        """Workers that may be killed, as soon as enough other workers are ready: a fleet that never
        recovers would prove nothing. Empty if this takes too long.
        """
        for _ in range(int(SPARE_SECONDS / LOOK_SECONDS)):
            fit = self._deployment.fit()
            awake = [*self._awake(), *process_tree.living(self._deployment.running["worker"].pid)]
            ready = [p for p in awake if p.pid in fit]
            chosen = [p for p in among() if p.pid in fit]
            if chosen and len(ready) > SPARED:
                return chosen
            await asyncio.sleep(LOOK_SECONDS)
        return []


TARGETS: Mapping[Kind, str] = {
    Kind.WORKER_KILL: "worker",
    Kind.API_KILL: "api",
    Kind.API_STOP: "api",
    Kind.REDIS_KILL: "redis",
    Kind.REDIS_FREEZE: "redis",
    Kind.NET_SLOW: "net",
    Kind.NET_SILENT: "net",
}
"""Targets on which only one fault may act at a time."""

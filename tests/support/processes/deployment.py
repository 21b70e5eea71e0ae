"""A deployment for tests: a real Redis, real worker processes, recordings that the test writes."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import redis
import yaml
from support.jobs.declared_events import assert_declared
from support.processes.preloaded import REPOSITORY, Process, start_process
from support.servers import redis_servers

from jobs.blobs.directory import DirectoryBlobs
from jobs.blobs.s3 import Bucket
from jobs.model import fleet
from jobs.model.record import JobRecord, Status
from jobs.model.spec import JobSpec
from jobs.queue.hints import Hints
from jobs.redis.keys import FLEET
from jobs.service import Operations, Submission
from jobs.store.redis_store import RedisStore, connect
from jobs.transitions.lifecycle import Refusal
from settings.base import FleetSettings

TENANT = "default"
TEST_SECONDS = 20.0
"""The longest time in seconds that a test waits for Redis; the machine may be busy."""
MORTAL = "2"
"""The lease seconds of a worker that a test kills. Others have a longer lease: a pause of two
seconds on a busy machine must not look like a crash."""


@dataclass
class Deployment:
    """Redis with two databases, a data directory, recordings, and workers that a test starts."""

    folder: Path
    redis_folder: Path
    server: redis_servers.RedisServer
    workers: list[Process] = field(default_factory=list)
    env: dict[str, str] = field(default_factory=dict)
    bucket: Bucket | None = None
    """The workers' artifact store, if a test uses one instead of a directory."""

    @property
    def redis_url(self) -> str:
        return self.server.url

    @property
    def broker_url(self) -> str:
        return self.server.url.removesuffix("/0") + "/1"

    @property
    def blobs(self) -> DirectoryBlobs:
        return DirectoryBlobs(self.folder / "data" / "blobs")

    def record(self, name: str, turns: Iterable[Any]) -> str:
        """Write a recording; returns the model's name."""
        path = self.folder / "recordings" / f"{name}.yaml"
        path.parent.mkdir(exist_ok=True)
        written = {"about": "written by a test; no provider was called", "turns": list(turns)}
        path.write_text(yaml.safe_dump(written, sort_keys=False, allow_unicode=True))
        return f"recording:{name}"

    def worker(self, *, release: Path = REPOSITORY, **settings: str) -> Process:
        """Start a worker process; heartbeat and sweep are short. Rules of the fleet among the
        settings are put on record first, as an operator would do."""
        env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "FETTLE_REDIS_URL": self.redis_url,
            "FETTLE_BROKER_URL": self.broker_url,
            "FETTLE_DATA_DIR": str(self.folder / "data"),
            "FETTLE_RECORDINGS_DIR": str(self.folder / "recordings"),
            "FETTLE_LEASE_SECONDS": "15",
            "FETTLE_HEARTBEAT_SECONDS": "0.5",
            "FETTLE_SWEEP_SECONDS": "0.5",
            "FETTLE_DRAIN_SECONDS": "5",
            "FETTLE_MUTATIONS": "0",  # each mutation is one more run of a verification
            **self.env,
            **{f"FETTLE_{name.upper()}": value for name, value in settings.items()},
        }
        if settings.keys() & FleetSettings.model_fields.keys():
            self.rule(env)
        with (self.folder / f"worker-{len(self.workers)}.log").open("wb") as log:
            self.workers.append(start_process("worker", env, log, release=release))
        return self.workers[-1]

    def rule(self, env: Mapping[str, str]) -> None:
        """Put the rules of an environment on record for all workers."""
        values = {
            name: type(field.get_default())(env.get(f"FETTLE_{name.upper()}", field.get_default()))
            for name, field in FleetSettings.model_fields.items()
        }
        with redis.Redis.from_url(self.redis_url) as client:
            text = client.get(FLEET)
            if text is None:
                record = fleet.first_record(values, 0, by="test")
            else:
                record = fleet.load(text).changed(values, 0, by="test")
            client.set(FLEET, fleet.dump(record))

    async def ready(self, workers: int = 1, seconds: float = 30) -> None:
        """Wait until this number of workers is ready."""
        await self.logged('"worker ready"', workers, seconds)

    async def logged(self, text: str, times: int = 1, seconds: float = 30) -> None:
        """Wait until the workers' logs contain the text this number of times."""
        try:
            async with asyncio.timeout(seconds):
                while self.logs().count(text) < times:
                    await asyncio.sleep(0.02)
        except TimeoutError:
            raise AssertionError(f"no {times} {text}:\n{self.logs()}") from None

    def child_of_worker(self, word: str) -> int | None:
        """The pid of the last worker's child that has the word in its command line."""
        for process_path in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                parent = (process_path / "stat").read_text().rpartition(")")[2].split()[1]
                if int(parent) == self.workers[-1].pid and word in (
                    (process_path / "cmdline").read_text().split("\0")
                ):
                    return int(process_path.name)
        return None

    def restart_redis(self) -> contextlib.AbstractContextManager[redis_servers.RedisServer]:
        """Start Redis again, with the same data and port."""
        port = int(self.server.url.rsplit(":", 1)[1].split("/")[0])
        return redis_servers.start(self.server.binary, self.redis_folder, port=port)

    def stop_workers(self, signum: int = signal.SIGTERM, seconds: float = 15) -> list[int]:
        """Send every worker a signal and wait for its end; returns the exit codes."""
        for process in self.workers:
            if process.poll() is None:
                process.send_signal(signum)
        codes = [process.wait(seconds) for process in self.workers]
        self.workers.clear()
        return codes

    def logs(self) -> str:
        """The workers' logs, for a failing test."""
        return "\n".join(
            path.read_text(errors="replace") for path in sorted(self.folder.glob("worker-*.log"))
        )

    @contextlib.asynccontextmanager
    async def operations(self) -> AsyncIterator[Operations]:
        """Operations like those of the API: a store, and hints through the broker."""
        hints = Hints(self.broker_url)
        store = RedisStore(connect(self.redis_url, seconds=TEST_SECONDS))
        try:
            yield Operations(store, hints.hint)
        finally:
            await store.close()
            hints.close()

    def wait_until(self, holds: Callable[[], object], seconds: float = 120) -> None:
        """Wait until the condition holds; for tests that use the HTTP API only."""
        end = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < end, self.logs()
            time.sleep(0.02)

    async def submit(self, operations: Operations, spec: JobSpec) -> str:
        """Submit a job; returns its id."""
        submitted = await operations.submit(TENANT, spec, by="test")
        assert isinstance(submitted, Submission), submitted
        return submitted.record.id

    async def wait_for_event(
        self, operations: Operations, job_id: str, kind: str, times: int = 1, seconds: float = 20
    ) -> None:
        """Wait until a job has this number of events of a kind."""
        try:
            async with asyncio.timeout(seconds):
                while (await self.kinds(operations, job_id)).count(kind) < times:
                    await asyncio.sleep(0.02)
        except TimeoutError:
            raise AssertionError(f"no {times} {kind}:\n{self.logs()}") from None

    async def kinds(self, operations: Operations, job_id: str) -> list[str]:
        """The kinds of a job's events, in order."""
        return [event.kind for event in await operations.store.events(job_id)]

    async def record_of(self, operations: Operations, job_id: str) -> JobRecord:
        """A job's present record."""
        loaded = await operations.store.load(job_id)
        assert loaded is not None
        return loaded.record

    async def until(
        self, operations: Operations, job_id: str, *statuses: Status, seconds: float = 30
    ) -> JobRecord:
        """Wait until the job is in one of the statuses (final ones, unless named)."""
        expected_statuses = statuses or tuple(status for status in Status if status.final)
        try:
            async with asyncio.timeout(seconds):
                while True:
                    loaded = await operations.store.load(job_id)
                    assert loaded is not None
                    if loaded.record.status in expected_statuses:
                        assert_declared(await operations.store.events(job_id))
                        return loaded.record
                    await asyncio.sleep(0.02)
        except TimeoutError:
            raise AssertionError(
                f"job {job_id} is {loaded.record.status}, not {expected_statuses}:\n{self.logs()}"
            ) from None


def ok(changed: JobRecord | Submission | Refusal) -> JobRecord:
    """The record; a refusal fails the test."""
    record = changed.record if isinstance(changed, Submission) else changed
    assert isinstance(record, JobRecord), record
    return record


@contextlib.contextmanager
def running_deployment(folder: Path, **env: str) -> Iterator[Deployment]:
    """A deployment on its own Redis; ends every process that it started."""
    binary = shutil.which("redis-server") or next(iter(redis_servers.binaries().values()))
    redis_folder = folder / "redis"
    with redis_servers.start(binary, redis_folder, tcp=True) as server:
        deployment = Deployment(folder, redis_folder, server, env=dict(env))
        try:
            yield deployment
        finally:
            for process in deployment.workers:
                process.kill()
                process.wait()

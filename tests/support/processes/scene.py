"""A deployment for `tests/faults` with a real server as its model, and a log of operations.

`Scene.judge` checks the log against the store (J1 to J14) after any fault of a test.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from support.processes.deployment import Deployment, running_deployment
from support.processes.preloaded import Process

from jobs.model.record import JobRecord, Status
from jobs.model.spec import JobSpec
from jobs.service import Operations
from lab.drills.chaos.checks.checker import CheckerVerdict, RecoveryBounds, check
from lab.drills.chaos.deployment.reading import of_store
from lab.drills.chaos.oplog import (
    Called,
    Cancelled,
    Moment,
    OperationLog,
    Repaired,
    Struck,
    Submitted,
)
from lab.provider import ProviderServer, Reply, Request, ToolCall, Turn

KILL = "worker-kill"
TWICE = ("open('n', 'a').write('1'); print('one')", "open('n', 'a').write('2'); print('two')")
"""Two runs, each of which adds a digit to a file: the file is `12` if each run was kept once."""


@dataclass(frozen=True)
class Work:
    """The replies of a job's model: a plan, one run for each of `codes`, an answer, an approval.
    Each reply takes `seconds`. `instead` replaces the nth reply, counted from 1.
    """

    codes: tuple[str, ...] = ("print(6 * 7)",)
    seconds: float = 0.0
    instead: Mapping[int, Turn] = field(default_factory=dict, repr=False)

    @property
    def calls(self) -> int:
        """The number of the job's model calls."""
        return len(self.codes) + 3

    def turn(self, request: Request, number: int) -> Turn:
        """The reply to the `number`th request of this job."""
        if number in self.instead:
            return self.instead[number]
        if request.forced_tool == "Plan":
            tool_call = ToolCall("Plan", {"steps": ["Write.", "Run.", "Look."]})
        elif request.forced_tool == "Verdict":
            tool_call = ToolCall("Verdict", {"verdict": "approve", "run": f"r{len(self.codes)}"})
        else:
            runs = sum(message.speaker == "tool" for message in request.messages)
            if runs == len(self.codes):
                return Reply("It is done.", delay_seconds=self.seconds)
            tool_call = ToolCall("python", {"code": self.codes[runs]})
        return Reply(tool_calls=(tool_call,), delay_seconds=self.seconds)


@dataclass(repr=False)  # the text of a model may be huge
class Scene:
    """A deployment under attack. A job's model has its name, so that each request names its job."""

    deployment: Deployment
    operations: Operations
    log: OperationLog
    work: dict[str, Work] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)
    requests_by_model: dict[str, list[Request]] = field(default_factory=dict)
    lease: float = 2.0

    def script(self, request: Request) -> Turn:
        """The provider's script; a complete reply is a paid call."""
        requests = self.requests_by_model.setdefault(request.model, [])
        requests.append(request)
        turn = self.work[request.model].turn(request, len(requests))
        if isinstance(turn, Reply):
            messages = json.dumps(request.body["messages"]).encode()
            self.log.add(Called(key=request.model, said=hashlib.sha256(messages).hexdigest()))
        return turn

    async def submit(self, name: str, work: Work | None = None, **spec: object) -> str:
        """Submit a job; returns its id."""
        self.work[name] = work or Work()
        requested_at = Moment.now()
        fields = {"task": f"The job {name}.", "model": f"groq:{name}", **spec}
        job_id = await self.deployment.submit(self.operations, JobSpec(**fields))  # type: ignore[arg-type]
        self.ids[name] = job_id
        self.log.add(Submitted(asked=requested_at, status=202, key=name, body=name, job_id=job_id))
        return job_id

    async def cancel(self, name: str) -> bool:
        """Cancel a job; returns whether it was cancelled."""
        requested_at = Moment.now()
        answer = await self.operations.cancel(self.ids[name], "ann")
        granted = isinstance(answer, JobRecord)
        status = 202 if granted else 409
        self.log.add(Cancelled(asked=requested_at, status=status, job_id=self.ids[name]))
        return granted

    async def requests(self, name: str, count: int, seconds: float = 30) -> None:
        """Wait until the job's model has that many requests."""
        await until(
            lambda: len(self.requests_by_model.get(name, ())) >= count,
            seconds,
            self.deployment.logs,
        )

    async def holder(self, name: str) -> Process:
        """The worker that has the job's lease."""
        pid = await self.holder_pid(name)
        return next(worker for worker in self.deployment.workers if worker.pid == pid)

    async def holder_pid(self, name: str) -> int:
        """The pid of the process that has the job's lease; this may be an isolated process."""
        record = await self.deployment.until(self.operations, self.ids[name], Status.RUNNING)
        assert record.lease is not None
        return int(record.lease.worker.split(":")[1])

    async def holders(self, job_id: str) -> list[int]:
        """The processes that have had the job's lease, in order."""
        events = await self.operations.store.events(job_id)
        return [int(e.data["worker"].split(":")[1]) for e in events if e.kind == "started"]

    async def end(self, name: str, seconds: float = 60) -> JobRecord:
        """Wait until the job has ended."""
        return await self.deployment.until(self.operations, self.ids[name], seconds=seconds)

    async def wait_for_success(self, *names: str, seconds: float = 60) -> None:
        """Wait until the jobs have ended. Fails if a job did not succeed."""
        for name in names:
            job = await self.end(name, seconds)
            details = f"{name}: {job.reason} {job.detail}\n{self.deployment.logs()}"
            assert job.status is Status.SUCCEEDED, details

    async def event_kinds(self, name: str) -> list[str]:
        """The kinds of a job's events."""
        return await self.deployment.kinds(self.operations, self.ids[name])

    def kill(self, worker: Process, *, last: bool = False) -> None:
        """`kill -9` a worker. `last`: no other worker remains."""
        worker.kill()
        worker.wait()
        self.log.add(Struck(fault=KILL, pids=(worker.pid,), blinds=last))

    async def died(self, worker: Process, seconds: float = 40) -> None:
        """Wait until the last worker has killed itself at its fail point."""
        await until(lambda: worker.poll() is not None, seconds, self.deployment.logs)
        assert worker.returncode == -9, self.deployment.logs()
        self.log.add(Struck(fault=KILL, pids=(worker.pid,), blinds=True))

    async def replace_worker(self, **settings: str) -> Process:
        """Start a worker after the last worker has died, and wait until it is ready."""
        ready = self.deployment.logs().count('"worker ready"')
        worker = self.deployment.worker(**settings)
        await self.deployment.ready(ready + 1)
        self.log.add(Repaired(fault=KILL))
        return worker

    async def judge(self, *, slack: float = 6.0) -> CheckerVerdict:
        """The checker's verdict; violations fail the test."""
        bounds = RecoveryBounds(lease=self.lease, heartbeat=0.5, sweep=0.5, slack=slack)
        reading = await of_store(self.operations.store.redis)  # type: ignore[attr-defined]
        verdict = check(self.log.entries, reading, bounds)
        assert not verdict.violations, f"{verdict.as_text()}\n{self.deployment.logs()}"
        return verdict

    async def check_paid_once(self, *names: str) -> None:
        """Check that each call of these jobs was made, recorded and charged once."""
        for name in names:
            calls = self.work[name].calls
            kinds = await self.event_kinds(name)
            charged = len(await self.operations.store.charges(self.ids[name]))
            counts = (
                len(self.requests_by_model[name]),
                kinds.count("model_called"),
                charged,
            )
            assert counts == (calls,) * 3, (
                f"{name}: {calls} calls; requested, recorded, charged: {counts}"
            )
            assert kinds.count("run_finished") == len(self.work[name].codes)


@contextlib.asynccontextmanager
async def a_scene(folder: Path, **env: str) -> AsyncIterator[Scene]:
    """A deployment with its model's server and without workers; `env` is for the workers."""
    env = {"FETTLE_LEASE_SECONDS": f"{Scene.lease:g}", **env}
    with running_deployment(folder, GROQ_API_KEY="a", **env) as deployment:
        async with deployment.operations() as operations:
            scene = Scene(deployment, operations, OperationLog())
            with ProviderServer(scene.script) as server:
                deployment.env["FETTLE_GROQ_BASE_URL"] = server.groq_url
                deployment.env["FETTLE_MODEL_MAX_RETRIES"] = "0"
                yield scene


async def until(
    holds: Callable[[], bool], seconds: float = 30, show_details: Callable[[], str] = str
) -> None:
    """Wait for the condition `holds`; `show_details()` explains a time-out."""
    try:
        async with asyncio.timeout(seconds):
            while not holds():
                await asyncio.sleep(0.01)
    except TimeoutError:
        raise AssertionError(
            f"the condition does not hold after {seconds} s:\n{show_details()}"
        ) from None


def processes(argument: str) -> set[int]:
    """The processes of this machine that have this argument."""
    pids = set()
    for process_path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # the process has ended
            if argument.encode() in (process_path / "cmdline").read_bytes().split(b"\0"):
                pids.add(int(process_path.name))
    return pids


def sleeps(seconds: str) -> str:
    """Code that becomes `sleep SECONDS`. A unique number identifies the process."""
    return f"import os; os.execv('/bin/sleep', ['sleep', '{seconds}'])"


def waits_for_signal(mark: str) -> str:
    """Code that waits for SIGUSR1. The argument `mark` identifies the process."""
    waits = "import signal; signal.sigwait([signal.SIGUSR1]); print('asked')"
    return (
        "import os, signal, sys; signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1]); "
        f"os.execv(sys.executable, [sys.executable, '-c', {waits!r}, {mark!r}])"
    )

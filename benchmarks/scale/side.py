"""Side: a deployment that is measured only over HTTP, so that it can have any release.

It runs already, or it is a temporary one of a checkout with its own environment (`make install`):
then API and workers are the checkout's, Redis and the model's server are the benchmark's.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import httpx

from benchmarks.scale import model
from benchmarks.scale.deployment import model_server
from benchmarks.scale.paced import GOOD
from benchmarks.services import BaseServices, base_services
from cli.client.events import FINAL
from cli.errors import CliError
from cli.local import bubblewrap
from cli.local.deployment import Deployment
from cli.local.processes import Program
from settings.client import sealed

WORDS = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta")
WORST = " ".join(word[:3] for word in WORDS)
"""A search that matches every job of `fill`."""
RATES = {"FETTLE_RATE_LIMIT": "1000000/minute", "FETTLE_ADMIT_QUEUED": "1000000"}
AT_ONCE = 20
"""Concurrent requests where no rate is measured."""
SETTLE_SECONDS = 600.0
MODEL_SECONDS = 1.0
"""For each of a job's 5 calls: 32 slots then do some 6 jobs a second, and the queue grows."""


@dataclass(frozen=True, slots=True)
class Side:
    """`key` is an admin's of the tenant `default`; jobs name `model`, or none for the deployment's
    default. Of a temporary one, `api` is the API's process id and `work` starts workers."""

    name: str
    url: str
    key: str = field(repr=False)
    model: str | None
    api: int | None = None
    work: Callable[[int], None] | None = None

    @contextlib.asynccontextmanager
    async def client(self, key: str | None = None) -> AsyncIterator[httpx.AsyncClient]:
        """A client of this side, with unlimited connections."""
        headers = {"X-API-Key": key or self.key}
        # the server closes a connection after 5 idle seconds: use none for that long
        limits = httpx.Limits(max_connections=None, keepalive_expiry=2)
        async with httpx.AsyncClient(
            base_url=self.url, headers=headers, timeout=30, limits=limits, trust_env=False
        ) as client:
            yield client

    def job(self, text: str) -> Mapping[str, str]:
        """The body of a request for a job."""
        return {"task": text, **({"model": self.model} if self.model else {})}


@contextlib.contextmanager
def started(checkout: Path) -> Iterator[Side]:
    """A deployment of `checkout` without workers. Raises CliError where it cannot run."""
    python = checkout / ".venv" / "bin" / "python"
    if not python.exists():
        raise CliError("the checkout has no environment", str(python), "make install")
    with base_services("load") as below:
        bubblewrap.ensure()
        key = secrets.token_urlsafe(24)
        env = {**below.env, **RATES, "FETTLE_API_KEY": key, "GROQ_API_KEY": "bench"}
        env |= {"FETTLE_GROQ_BASE_URL": model_server(below)}
        deployment = Deployment(below.port, sealed(env))
        api = below.answering(_run_by(python, deployment.api()))

        def work(count: int) -> None:
            programs = [_run_by(python, each) for each in deployment.workers(count)]
            _work(below, programs, api.url, key)

        name = checkout.resolve().name
        yield Side(name, api.url, key, model.flight(MODEL_SECONDS), api.pid, work)


def _run_by(python: Path, program: Program) -> Program:
    return replace(program, argv=(str(python), *program.argv[1:]))


def _work(below: BaseServices, programs: list[Program], url: str, key: str) -> None:
    """Start workers, and wait until each has announced itself."""
    children = [below.start(each) for each in programs]
    for _ in below.patience(*children, title="a worker cannot work here"):
        with contextlib.suppress(httpx.TransportError):
            answer = httpx.get(f"{url}/system", headers={"X-API-Key": key}, trust_env=False)
            if answer.status_code in GOOD and len(answer.json()["workers"]) >= len(children):
                return
        time.sleep(0.1)


async def fill(side: Side, jobs: int) -> str:
    """Submit and cancel jobs of eight words; returns the id of the last.

    A request without an answer is not repeated: one job more or less does not matter.
    """
    ids: list[str] = []

    async def one(number: int) -> None:
        with contextlib.suppress(httpx.TransportError):
            answer = await client.post("/jobs", json=side.job(_task(number)))
            if answer.status_code not in GOOD:
                raise CliError("the jobs to search cannot be submitted", answer.text)
            job_id = answer.json()["id"]
            ids.append(job_id)
            await client.post(f"/jobs/{job_id}/cancel")

    async with side.client() as client:
        await each(one, range(jobs))
    return ids[-1] if ids else ""


def _task(number: int) -> str:
    """The task of a job to search for."""
    return " ".join(f"{word}{number % 5}" for word in WORDS)


async def settled(side: Side, job_id: str) -> None:
    """Wait until a search finds the last job, and a new job has ended: then no hint of a cancelled
    job is left in the queue. Raises CliError.
    """
    async with side.client() as client:
        answer = await client.post("/jobs", json=side.job("the first"))
        path = f"/jobs/{answer.raise_for_status().json()['id']}"
        deadline = time.monotonic() + SETTLE_SECONDS
        while time.monotonic() < deadline:
            worked = (await client.get(path)).json().get("status") in FINAL
            answer = await client.get("/jobs", params={"text": job_id})
            if worked and (not job_id or answer.json().get("total")):
                return
            await asyncio.sleep(0.5)
    raise CliError("the jobs to search are not in the index, or no job ends", side.url)


async def each(ask: Callable[..., Awaitable[None]], over: Iterable[object]) -> None:
    """`ask` for each, `AT_ONCE` in parallel."""
    rest = iter(over)

    async def some() -> None:
        for one in rest:
            await ask(one)

    await asyncio.gather(*(some() for _ in range(AT_ONCE)))

"""The application over a real Redis, in this process. The test plays the worker."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI

from api.app import create_app
from api.services import Services
from jobs.blobs.directory import digest_bytes
from jobs.model.events import NewEvent
from jobs.model.record import JobRecord, PatchRef, Result
from jobs.model.review import Review, ReviewKind
from jobs.store import Charge, LeaseRef, Writes
from jobs.transitions.lifecycle import Refusal
from settings.api import ApiSettings
from settings.base import DEVELOPMENT_KEY

RESULT = Result(answer="it works", approved_by="critic")


def settings_for(redis_url: str, folder: Path, **changed: Any) -> ApiSettings:
    """Settings for a test's own Redis and directory."""
    broker = f"{redis_url}?db=1" if "unix" in redis_url else redis_url
    plain = {"redis_url": redis_url, "broker_url": broker, "data_dir": folder / "data"}
    plain["allowed_hosts"] = ("fettle.test",)
    plain["redis_seconds"] = 4.0  # the maximum of the setting: a disk may be busy with other tests
    return ApiSettings(**{**plain, **changed})


def text(content: str, **more: Any) -> dict[str, Any]:
    """An output in the form of a run's data."""
    return {"text": content, "dropped_bytes": 0, "digest": None, **more}


def a_run(number: int = 1, **changed: Any) -> dict[str, Any]:
    """The data of a `run_finished` event."""
    return {
        "id": f"run-{number}",
        "number": number,
        "revision": 1,
        "by": "executor",
        "code": text("print(42)"),
        "end": "exited",
        "exit_code": 0,
        "signal": None,
        "stdout": text("42\n"),
        "stderr": text(""),
        "seconds": 0.02,
        "succeeded": True,
        "artifacts": [],
        "refused": [],
        **changed,
    }


@dataclass
class Front:
    """The application, a client with the development key, and its services."""

    app: FastAPI
    client: httpx.AsyncClient

    @property
    def services(self) -> Services:
        return self.app.state.services

    async def submit(
        self, task: str = "add 1 and 1", by: httpx.AsyncClient | None = None, **body: Any
    ) -> str:
        """Submit a job with a client, by default with the development key. Returns its id."""
        answer = await (by or self.client).post("/jobs", json={"task": task, **body})
        assert answer.status_code == 202, answer.text
        return str(answer.json()["id"])

    async def job(self, job_id: str) -> dict[str, Any]:
        """The job with all its fields."""
        answer = await self.client.get(f"/jobs/{job_id}")
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    async def claim(self, job_id: str) -> LeaseRef:
        """Claim the job, as a worker does."""
        record = done(await self.services.operations.claim(job_id, "worker-1"))
        return LeaseRef(job_id, record.epoch)

    async def add_events(
        self, lease: LeaseRef, *facts: tuple[str, dict[str, Any]], **writes: Any
    ) -> None:
        """Append events to a job, as an attempt does."""
        events = [
            NewEvent(f"{kind}:{i}:{lease.epoch}", kind, d) for i, (kind, d) in enumerate(facts)
        ]
        await self.services.store.write(lease.job_id, lease.epoch, Writes(events=events, **writes))

    async def run(self, lease: LeaseRef, number: int = 1, **changed: Any) -> None:
        """Append a run to a job."""
        fact = NewEvent(f"run:{number}", "run_finished", a_run(number, **changed))
        await self.services.store.write(lease.job_id, lease.epoch, Writes(events=[fact]))

    async def store_artifact(self, name: str, content: bytes, media_type: str) -> dict[str, Any]:
        """An artifact with stored bytes."""
        await self.services.blobs.put(content)
        digest = digest_bytes(content)
        return {"name": name, "digest": digest, "size": len(content), "media_type": media_type}

    async def paused(self, review_id: str = "r1", *, succeeded: bool = True, **body: Any) -> str:
        """A job that waits for a person's decision. Returns its id."""
        job_id = await self.submit(review=True, **body)
        lease = await self.claim(job_id)
        run = a_run(succeeded=succeeded)
        await self.add_events(lease, ("run_finished", run))
        unproven = None if succeeded else "nothing has run"
        payload = {"plan": ["one"], "answer": "42", "runs": [run], "unproven": unproven}
        payload |= {"paused": body.get("pause") == "every_run"}
        review = Review(review_id, ReviewKind.REVIEW, payload, await self.services.store.now())
        done(await self.services.operations.pause(lease, review))
        return job_id

    async def patched(
        self,
        patch: bytes,
        *,
        is_ended: bool = False,
        answer: str = "42",
        result: Result = RESULT,
        **counts: int,
    ) -> str:
        """A job on a repository. Its open review, or its result, has a patch and a bundle. Returns
        its id.
        """
        repo = {"url": "https://git.example.org/team/app.git"}
        job_id = await self.submit(review=not is_ended, repo=repo)
        lease = await self.claim(job_id)
        digests = [
            await self.services.blobs.put(content) for content in (patch, b"bundle of " + patch)
        ]
        await self.services.store.write(job_id, lease.epoch, Writes(blobs=digests))
        counts = {"files": 1, "insertions": 1, "deletions": 1} | counts
        patch_ref = PatchRef(digests[0], len(patch), **counts, base="c0ffee" + "0" * 34)
        if is_ended:
            result = replace(result, answer=answer, patch=patch_ref, bundle=digests[1])
            done(await self.services.operations.succeed(lease, result, "changed"))
            return job_id
        payload = {"plan": ["one"], "answer": answer, "runs": [], "unproven": None}
        payload |= {"patch": asdict(patch_ref), "bundle": digests[1]}
        review = Review("r1", ReviewKind.REVIEW, payload, await self.services.store.now())
        done(await self.services.operations.pause(lease, review))
        return job_id

    async def finish(self, job_id: str) -> None:
        """Finish a job."""
        lease = await self.claim(job_id)
        done(await self.services.operations.succeed(lease, RESULT, "added"))

    async def key(self, *scopes: str, **more: Any) -> str:
        """Create a key. Returns its secret."""
        body = {"name": "ada", "scopes": list(scopes), **more}
        answer = await self.client.post("/keys", json=body)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["secret"])

    @contextlib.asynccontextmanager
    async def with_key(self, secret: str | None) -> AsyncIterator[httpx.AsyncClient]:
        """A client that sends another key."""
        async with client_of(self.app, secret) as client:
            yield client


def done(changed: JobRecord | Refusal) -> JobRecord:
    """The record of an operation; fails if the operation was refused."""
    assert isinstance(changed, JobRecord), changed
    return changed


def charge(call: str, role: str, cost_usd: str | None, cached: int = 0) -> Charge:
    """The charge of a model call."""
    return Charge(call, role, "groq:m", 100, 10, cost_usd, cached)


def client_of(app: FastAPI, secret: str | None = DEVELOPMENT_KEY) -> httpx.AsyncClient:
    """A client of the application in this process. A failure of the application becomes a
    response.
    """
    headers = {"X-API-Key": secret} if secret else {}
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, base_url="http://fettle.test", headers=headers)


@contextlib.asynccontextmanager
async def started(settings: ApiSettings) -> AsyncIterator[Front]:
    """A started application."""
    app = create_app(settings)
    async with app.router.lifespan_context(app), client_of(app) as client:
        yield Front(app, client)

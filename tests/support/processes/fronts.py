"""API processes for a deployment, and callers that log each request and its answer."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import httpx
import httpx_sse
from support.processes.api_process import ApiProcess, api_environment, running
from support.processes.deployment import Deployment

from lab.drills.chaos.oplog import (
    Cancelled,
    Connected,
    Decided,
    Moment,
    OperationLog,
    Received,
    Submitted,
)
from settings.base import DEVELOPMENT_KEY

NO_ANSWER = httpx.TransportError
"""Errors after which a request may or may not have had its effect."""


@contextlib.contextmanager
def front(deployment: Deployment, name: str = "api", **changed: str) -> Iterator[ApiProcess]:
    """An API process of the deployment. `changed` are settings without their prefix."""
    settings = {"broker_url": deployment.broker_url, "rate_limit": "100000/minute", **changed}
    url = settings.pop("redis_url", deployment.redis_url)
    with running(
        api_environment(url, deployment.folder, **settings), deployment.folder / f"{name}.log"
    ) as api:
        yield api


@contextlib.asynccontextmanager
async def caller(url: str, log: OperationLog | None = None) -> AsyncIterator[Caller]:
    """A caller of the service at `url`, without a limit on its connections."""
    async with httpx.AsyncClient(
        base_url=url,
        headers={"X-API-Key": DEVELOPMENT_KEY},
        timeout=20,
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=None),
    ) as client:
        yield Caller(client, log or OperationLog())


@dataclass(frozen=True)
class Caller:
    """Sends requests and logs their answers. None means that no answer came."""

    client: httpx.AsyncClient
    log: OperationLog

    async def submit(self, key: str, **body: Any) -> httpx.Response | None:
        """POST /jobs with an Idempotency-Key."""
        requested_at = Moment.now()
        answer = await self._post("/jobs", body, {"Idempotency-Key": key})
        status = answer.status_code if answer is not None else None
        job_id = answer.json()["id"] if answer is not None and status == 202 else None
        name = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()[:8]
        self.log.add(
            Submitted(asked=requested_at, status=status, key=key, body=name, job_id=job_id)
        )
        return answer

    async def submit_until_accepted(self, key: str, seconds: float = 60, **body: Any) -> str:
        """Repeat the request, as a client should, until it is accepted. Returns the job's id."""
        async with asyncio.timeout(seconds):
            while True:
                answer = await self.submit(key, **body)
                if answer is not None and answer.status_code == 202:
                    return str(answer.json()["id"])
                assert answer is None or answer.json()["retryable"], answer.text
                await asyncio.sleep(0.1)

    async def decide(self, job_id: str, review_id: str, **body: Any) -> httpx.Response | None:
        """POST /jobs/{id}/review for the named review."""
        requested_at = Moment.now()
        answer = await self._post(f"/jobs/{job_id}/review", {"review_id": review_id, **body})
        status = answer.status_code if answer is not None else None
        self.log.add(
            Decided(
                asked=requested_at,
                status=status,
                job_id=job_id,
                review_id=review_id,
                action=body["action"],
            )
        )
        return answer

    async def cancel(self, job_id: str) -> httpx.Response | None:
        """POST /jobs/{id}/cancel."""
        requested_at = Moment.now()
        answer = await self._post(f"/jobs/{job_id}/cancel", {})
        status = answer.status_code if answer is not None else None
        self.log.add(Cancelled(asked=requested_at, status=status, job_id=job_id))
        return answer

    async def follow(self, job_id: str, reader: str, after: int = 0) -> list[int]:
        """Yield the numbers of a stream's events, until the stream ends or breaks."""
        numbers: list[int] = []
        self.log.add(Connected(job_id=job_id, reader=reader, after=after))
        headers = {"Last-Event-ID": str(after)} if after else {}
        with contextlib.suppress(httpx.TransportError):
            async with httpx_sse.aconnect_sse(
                self.client, "GET", f"/jobs/{job_id}/events", headers=headers
            ) as source:
                if source.response.status_code != 200:
                    return numbers
                async for event in source.aiter_sse():
                    numbers.append(int(event.id))
                    self.log.add(
                        Received(job_id=job_id, reader=reader, seq=numbers[-1], kind=event.event)
                    )
        return numbers

    async def _post(
        self, path: str, body: Mapping[str, Any], headers: Mapping[str, str] | None = None
    ) -> httpx.Response | None:
        try:
            return await self.client.post(path, json=dict(body), headers=headers)
        except NO_ANSWER:
            return None

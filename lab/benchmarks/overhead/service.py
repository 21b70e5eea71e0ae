"""The same job through the complete service, over HTTP. The client waits on the event stream."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import Any, TypeAlias

import httpcore

from lab.benchmarks.overhead import job

MOST_SECONDS = 60.0
OK, ACCEPTED = 200, 202
Headers: TypeAlias = dict[bytes | str, bytes | str]


class ServiceRun:
    """A client of a running service. It uses httpcore, which adds little to the measured time."""

    def __init__(self, url: str, key: str) -> None:
        self._url = url
        self._headers: Headers = {"X-API-Key": key, "Content-Type": "application/json"}
        self._http = httpcore.AsyncConnectionPool(max_connections=100, keepalive_expiry=60)

    async def run(self) -> float:
        """Run one job from its submission to its final event; returns its seconds."""
        started_at, kinds = time.perf_counter(), []
        async with asyncio.timeout(MOST_SECONDS):
            accepted = await self._post("/jobs", job.body())
            async for kind in self._kinds(accepted["id"]):
                kinds.append(kind)
                if kind == "review_opened":
                    await self._post(f"/jobs/{accepted['id']}/review", {"action": "delegate"})
        seconds = time.perf_counter() - started_at
        done = [kinds.count(kind) for kind in ("model_called", "tool_used", "review_opened")]
        expected = [job.MODEL_CALLS, job.TOOL_CALLS, job.PAUSES]
        assert (done, kinds[-1]) == (expected, "succeeded"), (done, kinds[-1])
        return seconds

    async def run_together(self, count: int) -> float:
        """Run `count` jobs at once; returns the seconds until the end of the last job."""
        started_at = time.perf_counter()
        await asyncio.gather(*(self.run() for _ in range(count)))
        return time.perf_counter() - started_at

    async def close(self) -> None:
        """Close connections."""
        await self._http.aclose()

    async def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        answer = await self._http.request(
            "POST", self._url + path, headers=self._headers, content=json.dumps(body).encode()
        )
        assert answer.status == ACCEPTED, (answer.status, answer.content)
        content: dict[str, Any] = json.loads(answer.content)
        return content

    async def _kinds(self, job_id: str) -> AsyncIterator[str]:
        """The kinds of the job's events as they arrive, until the final event."""
        headers: Headers = {**self._headers, "Accept": "text/event-stream"}
        url = f"{self._url}/jobs/{job_id}/events"
        async with self._http.stream("GET", url, headers=headers) as stream:
            assert stream.status == OK, stream.status
            buffer = b""
            async for chunk in stream.aiter_stream():
                *lines, buffer = (buffer + chunk).split(b"\n")
                for line in lines:
                    if line.startswith(b"event: "):
                        yield line[7:].decode()

"""The same job through the whole service, over HTTP, the client waiting on the event stream."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import Any

import httpx

from bench.overhead import job

MOST_SECONDS = 60.0


class ServiceRun:
    """A client of a running service."""

    def __init__(self, url: str, key: str) -> None:
        self._http = httpx.AsyncClient(
            base_url=url,
            headers={"X-API-Key": key},
            timeout=MOST_SECONDS,
            trust_env=False,
            limits=httpx.Limits(max_connections=100, max_keepalive_connections=100),
        )

    async def run(self) -> float:
        """One job from its submission to its final event; returns its seconds."""
        begun = time.perf_counter()
        async with asyncio.timeout(MOST_SECONDS):
            accepted = await self._post("/jobs", job.body())
            pauses = 0
            async for kind in self._kinds(accepted["id"]):
                if kind == "review_opened":
                    pauses += 1
                    await self._post(f"/jobs/{accepted['id']}/review", {"action": "delegate"})
        seconds = time.perf_counter() - begun
        assert pauses == job.PAUSES, pauses
        return seconds

    async def run_together(self, count: int) -> float:
        """`count` jobs at once; returns the seconds until the last one's end."""
        begun = time.perf_counter()
        await asyncio.gather(*(self.run() for _ in range(count)))
        return time.perf_counter() - begun

    async def check(self) -> None:
        """Run one job and look at it whole: both sides must have done the same."""
        accepted = await self._post("/jobs", job.body())
        kinds = []
        async for kind in self._kinds(accepted["id"]):
            kinds.append(kind)
            if kind == "review_opened":
                await self._post(f"/jobs/{accepted['id']}/review", {"action": "delegate"})
        done = (kinds.count("model_called"), kinds.count("tool_used"), kinds[-1])
        assert done == (job.MODEL_CALLS, job.TOOL_CALLS, "succeeded"), done

    async def close(self) -> None:
        """Close connections."""
        await self._http.aclose()

    async def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        answer = await self._http.post(path, json=body)
        answer.raise_for_status()
        content: dict[str, Any] = answer.json()
        return content

    async def _kinds(self, job_id: str) -> AsyncIterator[str]:
        """Kinds of the job's events as they happen, to the final one."""
        path = f"/jobs/{job_id}/events"
        headers = {"Accept": "text/event-stream"}
        async with self._http.stream("GET", path, headers=headers) as stream:
            stream.raise_for_status()
            async for line in stream.aiter_lines():
                if line.startswith("data:"):
                    yield json.loads(line[5:])["kind"]

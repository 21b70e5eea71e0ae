"""Tokens from a provider's stream, through worker, Redis and API, to a listener."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from httpx_sse import aconnect_sse
from support.graph.working_model import works
from support.processes.deployment import Deployment, running_deployment
from support.processes.fronts import front

from lab.provider import ProviderServer, Request, Turn

SAID = "It prints forty-two, as it should, and so the work is done. " * 4


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    with running_deployment(tmp_path, GROQ_API_KEY="a") as started_deployment:
        yield started_deployment


def speaks_slowly(request: Request) -> Turn:
    reply = works(request, answer=SAID)
    return replace(reply, pace_seconds=0.15) if reply.text else reply


async def follow(
    client: httpx.AsyncClient, job_id: str, **params: Any
) -> list[tuple[str, str, Any]]:
    """All messages of a job's stream, to its end: kind (and id, if the message has one), data."""
    address = f"/jobs/{job_id}/events"
    async with aconnect_sse(client, "GET", address, params=params, timeout=60) as source:
        return [
            (event.event, event.id, json.loads(event.data))
            async for event in source.aiter_sse()
            if event.data
        ]


async def test_tokens_are_visible_while_they_arrive_and_are_not_stored(
    deployment: Deployment,
) -> None:
    with ProviderServer(speaks_slowly) as server, front(deployment) as api:
        deployment.worker(groq_base_url=server.groq_url)
        await deployment.ready()
        async with api.client() as client:
            body = {"task": "6 times 7", "model": "groq:llama-3.3-70b-versatile"}
            job_id = (await client.post("/jobs", json=body)).json()["id"]
            live_events, plain = await asyncio.gather(
                follow(client, job_id, tokens="true"), follow(client, job_id)
            )
            again = await follow(client, job_id, tokens="true")
    assert live_events[-1][0] == "succeeded", deployment.logs()
    spoken = [data for kind, _, data in live_events if kind == "tokens"]
    answer = [data for data in spoken if data["part"] == "text" and data["role"] == "executor"]
    heard = "".join(data["text"] for data in answer)
    assert len(answer) > 3
    assert heard
    assert heard in SAID  # no listener gets earlier texts
    kinds = [kind for kind, _, _ in live_events]
    assert kinds.index("tokens") < len(kinds) - 1 - kinds[::-1].index("model_called")
    events = [(kind, number) for kind, number, _ in live_events if kind != "tokens"]
    assert events == [(kind, number) for kind, number, _ in plain]
    assert [kind for kind, _, _ in again if kind == "tokens"] == []

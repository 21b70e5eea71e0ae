"""Output of models and runs while it is written, through worker, Redis and API, to a listener."""

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
from support.processes.fettle_command import environment, started
from support.processes.fronts import front

from lab.provider import ProviderServer, Reply, Request, ToolCall, Turn
from settings.base import DEVELOPMENT_KEY

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


SLOW = """
import sys, time
print('begins', flush=True)
for number in range(12):
    print(f'\\x1b[32mpart {number}\\x1b[0m', file=sys.stderr)
    time.sleep(0.25)
print('the end')
"""


def runs_slowly(request: Request) -> Turn:
    if request.forced_tool or request.messages[-1].speaker == "tool":
        return works(request)
    command = f"cat <<'X' > a.py\n{SLOW}X\npython a.py"
    return Reply(tool_calls=(ToolCall("shell", {"command": command}),))


async def test_the_output_of_a_run_is_visible_while_it_goes_on_and_is_not_stored(
    deployment: Deployment,
) -> None:
    with ProviderServer(runs_slowly) as server, front(deployment) as api:
        deployment.worker(groq_base_url=server.groq_url)
        await deployment.ready()
        async with api.client() as client:
            body = {
                "task": "6 times 7",
                "model": "groq:llama-3.3-70b-versatile",
                "verify": "python a.py",
            }
            job_id = (await client.post("/jobs", json=body)).json()["id"]
            live_events, plain = await asyncio.gather(
                follow(client, job_id, tokens="true"), follow(client, job_id)
            )
            again = await follow(client, job_id, tokens="true")
    kinds = [kind for kind, _, _ in live_events]
    assert kinds[-1] in ("succeeded", "failed"), deployment.logs()
    finished = kinds.index("run_finished")
    parts = [
        (position, data)
        for position, (kind, _, data) in enumerate(live_events)
        if kind == "tokens" and data["part"] == "output" and data["call"] == "r1"
    ]
    assert len(parts) > 4
    assert all(position < finished for position, _ in parts)
    first, last = parts[0][1], parts[-1][1]
    assert (first["role"], first["command"]) == ("shell", "cat <<'X' > a.py ...")
    assert "begins" in first["text"]
    assert "\x1b[32mpart" in last["text"]
    assert "\x1e" not in last["text"]
    assert "the end" not in last["text"]
    assert [data["try"] for _, data in parts] == sorted({data["try"] for _, data in parts})
    assert 0 < first["seconds"] < last["seconds"]
    run = live_events[finished][2]["data"]
    assert run["stdout"]["text"] == "begins\nthe end\n"
    followed = {data["call"] for kind, _, data in live_events if kind == "tokens"}
    runs = [data["data"]["id"] for kind, _, data in plain if kind == "run_finished"]
    assert runs == ["r1", "r2"]  # the second is the verification; experiments are not followed
    assert {call for call in followed if call.startswith("r")} == {"r1", "r2"}
    events = [(kind, number) for kind, number, _ in live_events if kind != "tokens"]
    assert events == [(kind, number) for kind, number, _ in plain]
    assert "tokens" not in [kind for kind, _, _ in again]


async def test_a_terminal_shows_the_output_of_a_run_while_it_goes_on(
    deployment: Deployment, tmp_path: Path
) -> None:
    with ProviderServer(runs_slowly) as server, front(deployment) as api:
        deployment.worker(groq_base_url=server.groq_url)
        await deployment.ready()
        env = environment(tmp_path, FETTLE_URL=api.url, FETTLE_API_KEY=DEVELOPMENT_KEY)
        task = ("run", "6 times 7", "--model", "groq:llama-3.3-70b-versatile")
        with started(*task, cwd=tmp_path, env=env, terminal=True) as command:
            command.wait_for("shell: cat <<'X' > a.py ...")
            command.wait_for(r"\x1b[32mpart 5\x1b[0m")
            shown_before = command.text
            command.end()
    assert "exit 0" not in shown_before
    assert "the end" not in shown_before
    assert "exit 0" in command.text
    assert "\x1b[32mpart" not in command.text

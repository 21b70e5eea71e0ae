"""Tool calls of one reply that share an id, or have none: compatible servers send such replies.

The providers' real clients call a local server. Each call still has its own position.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.graph.graphs import Journey, PlannedSandbox, printed

from agents.graph.job_input import job_fields
from agents.models.options import ModelOptions
from agents.models.pool import ModelPool
from agents.models.role_models import RoleModels
from lab.provider import ProviderServer, Reply, Request, ToolCall
from sandbox.protocol import Command, Limits, RunResult

CODES = ["one", "two", "three", "four"]
ENDS = {code: printed(f"{code}\n") for code in CODES}
ONE_ID = ["compatible:m", "groq:llama-3.3-70b-versatile", "anthropic:claude-haiku-4-5"]
CASES = [(name, "same") for name in ONE_ID] + [("compatible:m", "")]


def calls(codes: list[str], call_id: str) -> Reply:
    tool_calls = [ToolCall("python", {"code": code, "plan_steps": [1]}, call_id) for code in codes]
    return Reply(tool_calls=tuple(tool_calls))


def turns(call_id: str) -> list[Reply]:
    return [
        Reply(tool_calls=(ToolCall("Plan", {"steps": ["A.", "B.", "C."]}),)),
        calls(CODES[:3], call_id),
        calls(CODES[3:], call_id),
        Reply("All ran."),
        Reply(tool_calls=(ToolCall("Verdict", {"verdict": "approve", "runs": ["r4"]}),)),
    ]


@dataclass
class OneAtATime(PlannedSandbox):
    """Yields while a program runs, and fails if a second program starts during that time."""

    busy: bool = False

    async def run(self, command: Command, limits: Limits) -> RunResult:
        assert not self.busy, "two calls at a time"
        self.busy = True
        for _ in range(50):
            await asyncio.sleep(0)
        self.busy = False
        return await super().run(command, limits)


def ids(value: Any, *names: str) -> Iterator[str]:
    """The values under these names, at any depth of a request's body."""
    if isinstance(value, dict):
        yield from (value_part for name, value_part in value.items() if name in names)
        value = list(value.values())
    if isinstance(value, list):
        for value_part in value:
            yield from ids(value_part, *names)


def assert_paired(request: Request) -> None:
    """Check that each call of the last reply but one has an id, and a result with the same id."""
    message = next(
        value_part for value_part in request.body["messages"] if value_part["role"] == "assistant"
    )
    blocks = message.get("tool_calls") or message["content"]
    call_ids = [block["id"] for block in blocks if block.get("type") in ("function", "tool_use")]
    answered = list(ids(request.body, "tool_call_id", "tool_use_id"))
    assert len(set(call_ids)) == len(call_ids) == 3
    assert all(call_ids)
    assert answered == call_ids


async def finished_journey(
    folder: Path, name: str, call_id: str
) -> tuple[Journey, list[Request], OneAtATime]:
    sandbox = OneAtATime(ENDS)
    journey = Journey.plan(folder, [], sandbox)
    with ProviderServer(turns(call_id)) as server:
        keys = dict.fromkeys(("groq", "anthropic", "compatible"), "key")
        pool = ModelPool(ModelOptions(api_keys=keys, base_urls=server.base_urls(), max_retries=0))
        journey.ports = journey.with_ports(models=RoleModels.alone(pool, name))
        await journey.begin(job_fields("Run four programs."))
        await pool.aclose()
        return journey, server.requests, sandbox


@pytest.mark.parametrize(("name", "call_id"), CASES)
async def test_each_call_has_its_own_turn_number_and_result(
    tmp_path: Path, name: str, call_id: str
) -> None:
    journey, requests, sandbox = await finished_journey(tmp_path, name, call_id)
    assert sandbox.ran == CODES
    assert [run["id"] for run in journey.event_data("run_finished")] == ["r1", "r2", "r3", "r4"]
    assert (await journey.outcome()).approved_by == "critic"
    assert_paired(requests[2])

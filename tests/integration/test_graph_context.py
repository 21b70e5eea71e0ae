"""A whole job on a model whose context is small: it is never lost to its own length."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from support.graph.graphs import PlannedSandbox, printed

from agents.graph.build import build
from agents.graph.job_input import JobInput, initial_state
from agents.graph.outcome import outcome
from agents.models import ModelOptions, ModelPool, ModelRefused
from agents.models.role_models import RoleModels
from agents.ports import Bounds
from agents.ports.memory import MemoryRecord, ports_over
from benchmarks.provider import ProviderServer, Refusal, Reply, Request, ToolCall, Turn

TASK = "Work through the measurements."
CALLS = 14
MOST = 30_000
"""Characters that the server takes: about those of 8,192 tokens."""
LONG = Refusal(400, "too much", fields={"code": "context_length_exceeded"})
DECIDED = {"Plan": {"steps": [TASK]}, "Verdict": {"verdict": "approve", "feedback": ""}}


def program(number: int) -> str:
    return f"run {number}\n" + "# a line of it\n" * 100


def size(request: Request) -> int:
    calls = [call.args for message in request.messages for call in message.tool_calls]
    return sum(len(message.text) for message in request.messages) + len(str(calls))


def latest(request: Request) -> int:
    """The number of the latest run that the request knows of."""
    calls = [call.args for message in request.messages for call in message.tool_calls]
    codes = [args["code"] for args in calls if isinstance(args, dict)]
    return max((int(code.split()[1]) for code in codes), default=0)


def small(request: Request) -> Turn:
    if size(request) > MOST:
        return LONG
    if request.forced_tool is not None:
        return Reply(tool_calls=(ToolCall(request.forced_tool, DECIDED[request.forced_tool]),))
    number = latest(request) + 1
    if number > CALLS:
        return Reply("Done.")
    return Reply(tool_calls=(ToolCall("python", {"code": program(number)}),))


async def worked(server: ProviderServer, **options: Any) -> dict[str, Any]:
    pool = ModelPool(ModelOptions({}, {"compatible": f"{server.groq_url}/v1"}, **options))
    models = RoleModels.alone(pool, "compatible:of-our-own")
    output = "\n".join(f"line {n:04d} of a table" for n in range(180))
    sandbox = PlannedSandbox({program(n): printed(output) for n in range(1, CALLS + 1)})
    ports = replace(ports_over(MemoryRecord(), sandbox, models), bounds=Bounds(steps=2 * CALLS))
    try:
        return await build(None).ainvoke(initial_state(JobInput(TASK)), context=ports)
    finally:
        await pool.aclose()


async def test_what_is_known_of_a_models_context_is_kept_to() -> None:
    with ProviderServer(small) as server:
        assert outcome(await worked(server, context_tokens=8_192)).approved
    sizes = [size(each) for each in server.requests]
    assert max(sizes) > 10_000
    assert max(sizes) <= MOST
    assert all(TASK in each.messages[1].text for each in server.requests)


async def test_the_smallest_context_there_may_be_is_enough_for_a_short_task() -> None:
    with ProviderServer(small) as server:
        assert outcome(await worked(server, context_tokens=4_096)).approved
    assert max(size(each) for each in server.requests) < 3 * 4_096 - 5_000  # beside the tools


async def test_a_refusal_for_length_is_answered_by_half_of_the_conversation() -> None:
    with ProviderServer(small) as server:
        assert outcome(await worked(server)).approved
    long = [place for place, each in enumerate(server.requests) if size(each) > MOST]
    assert long
    for place in long:
        assert size(server.requests[place + 1]) < MOST < size(server.requests[place])


async def test_what_is_too_long_even_then_fails_with_what_to_do() -> None:
    def full(request: Request) -> Turn:
        return LONG if request.forced_tool is None else small(request)

    told = r"longer than its context .*FETTLE_CONTEXT_TOKENS"
    with ProviderServer(full) as server, pytest.raises(ModelRefused, match=told):
        await worked(server)
    assert sum(each.forced_tool is None for each in server.requests) == 1  # nothing to leave out

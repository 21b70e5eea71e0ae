"""The whole graph with the true clients of Groq and Gemini, against a local server."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.graph.graphs import Journey, PlannedSandbox, only, printed

from agents.graph.job_input import JobInput
from agents.models.options import ModelOptions
from agents.models.pool import ModelPool
from agents.models.role_models import RoleModels
from agents.tools.registry import TOOLS
from benchmarks.provider import ProviderServer, Refusal, Reply, ToolCall, Turn
from benchmarks.provider.request import Request

PLAN = Reply(tool_calls=(ToolCall("Plan", {"steps": ["A.", "B.", "C."]}),))
RUN = Reply(tool_calls=(ToolCall("python", {"code": "ok"}),))
APPROVE = Reply(tool_calls=(ToolCall("Verdict", {"verdict": "approve", "run": "r1"}),))
BROKEN = Reply(tool_calls=(ToolCall("python", '{"code": "'),))
KEPT_BACK = Refusal(400, fields={"code": "tool_use_failed", "failed_generation": "<python>{"})
NAMES = ("groq:llama-3.3-70b-versatile", "google_genai:gemini-2.5-flash")


async def play(name: str, folder: Path, *first: Turn) -> tuple[Journey, list[Request]]:
    turns = [PLAN, *first, RUN, Reply("It ran."), APPROVE]
    journey = Journey.plan(folder, [], PlannedSandbox({"ok": printed("fine")}))
    with ProviderServer(turns) as server:
        urls = {"groq": server.groq_url, "google_genai": server.gemini_url}
        keys = {"groq": "key", "google_genai": "key"}
        pool = ModelPool(ModelOptions(api_keys=keys, base_urls=urls, max_retries=0))
        journey.ports = journey.with_ports(models=RoleModels.alone(pool, name))
        await journey.begin(JobInput("Add two numbers."))
        await pool.aclose()
        return journey, server.requests


@pytest.mark.parametrize("name", NAMES)
async def test_a_job_by_a_provider(name: str, tmp_path: Path) -> None:
    journey, requests = await play(name, tmp_path)
    assert (await journey.outcome()).approved_by == "critic"
    planner, executor, again, critic = requests
    assert (planner.forced_tool, critic.forced_tool) == ("Plan", "Verdict")
    assert executor.tools == tuple(tool.__name__ for tool in TOOLS)
    assert again.last_text.endswith("stdout:\nfine")
    told = journey.data_of("model_called")
    assert {each["model"] for each in told} == {name}
    assert all(each["input_tokens"] == 10 and float(each["cost_usd"]) > 0 for each in told)


@pytest.mark.parametrize("name", NAMES)
async def test_a_broken_call_is_answered_to_the_model(name: str, tmp_path: Path) -> None:
    journey, requests = await play(name, tmp_path, BROKEN)
    assert (await journey.outcome()).approved_by == "critic"
    assert "valid" in requests[2].last_text
    assert only(journey.data_of("run_finished"))["number"] == 1
    assert len(journey.data_of("model_called")) == len(journey.record.charges) == len(requests) == 5


async def test_a_call_that_the_provider_kept_back_is_asked_for_again(tmp_path: Path) -> None:
    # Groq's client asks once more of its own accord before it gives up.
    journey, requests = await play(NAMES[0], tmp_path, KEPT_BACK, KEPT_BACK)
    assert (await journey.outcome()).approved_by == "critic"
    assert "contained a tool call that is not valid" in requests[3].last_text
    assert requests[3].messages[-2].text == "<python>{"

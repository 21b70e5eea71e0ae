"""Structured answers and the agent loop: the same on Groq, on Gemini and on a recording."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.tools import tool
from pydantic import BaseModel, Field

from agents.models.build import build
from agents.models.chains import Role
from agents.models.errors import ModelUnavailable, RecordingMismatch
from agents.models.name import ModelName
from agents.models.options import ModelOptions
from agents.models.replies.structured import ask
from benchmarks.provider import ProviderServer, Refusal, Reply, Request, ToolCall, Turn, always

Make = Callable[[Role], BaseChatModel]
QUESTION = [SystemMessage("You plan."), HumanMessage("Plan a sort.")]


class Step(BaseModel):
    """One step."""

    title: str
    seconds: int | None = None


class Plan(BaseModel):
    """A plan of some steps."""

    steps: list[Step] = Field(min_length=1, max_length=5)


@tool
def double(number: int) -> int:
    """Doubles a number."""
    return 2 * number


STEPS = {"steps": [{"title": "write"}, {"title": "run", "seconds": 5}]}
RECORDING = {
    "about": "Written by hand for this test. No provider was called.",
    "turns": [
        {
            "role": "planner",
            "expect": "Plan a sort.",
            "reply": {
                "tool_calls": [{"name": "Plan", "args": STEPS}],
                "usage": {"input_tokens": 10, "output_tokens": 5},
            },
        },
        {"role": "critic", "expect": "Plan a sort.", "reply": {"content": "Not now."}},
        {
            "role": "executor",
            "expect": "Double 21.",
            "reply": {"tool_calls": [{"name": "double", "args": {"number": 21}}]},
        },
        {"role": "executor", "expect": "42", "after": 1, "reply": {"content": "It is 42."}},
    ],
}


def script(request: Request) -> Turn:
    """The same answers as the recording's, over the wire."""
    match request.last_text:
        case "Plan a sort." if request.messages[0].text == "You judge.":
            return Reply("Not now.")
        case "Plan a sort.":
            return Reply(tool_calls=(ToolCall("Plan", STEPS),))
        case "Double 21.":
            return Reply(tool_calls=(ToolCall("double", {"number": 21}),))
        case "42" if request.replies_so_far == 1:
            return Reply("It is 42.")
    return Refusal(400, f"not in the script: {request.last_text}")


@pytest.fixture(
    params=["groq:llama-3.3-70b-versatile", "google_genai:gemini-2.5-flash", "recording:a"]
)
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Make]:
    (tmp_path / "a.yaml").write_text(yaml.safe_dump(RECORDING))
    with ProviderServer(script) as server:
        options = ModelOptions(
            api_keys={"groq": "k", "google_genai": "k"},
            base_urls={"groq": server.groq_url, "google_genai": server.gemini_url},
            recordings=tmp_path,
        )
        yield lambda role: build(ModelName.parse(request.param), options, role)


async def test_an_agents_loop(make: Make) -> None:
    agent = create_agent(make("executor"), [double], system_prompt="You work.")
    done = await agent.ainvoke({"messages": [HumanMessage("Double 21.")]})
    human, call, result, last = done["messages"]
    assert (human.text, result.text, last.text) == ("Double 21.", "42", "It is 42.")
    assert isinstance(call, AIMessage)
    assert call.tool_calls[0]["args"] == {"number": 21}


@pytest.mark.parametrize("name", ["groq:llama-3.3-70b-versatile", "google_genai:gemini-2.5-flash"])
async def test_the_one_tool_is_forced(name: str) -> None:
    with ProviderServer(script) as server:
        options = ModelOptions(
            api_keys={"groq": "k", "google_genai": "k"},
            base_urls={"groq": server.groq_url, "google_genai": server.gemini_url},
        )
        await ask(build(ModelName.parse(name), options, "planner"), QUESTION, Plan)
    assert server.requests[0].tools == ("Plan",)
    assert server.requests[0].forced_tool == "Plan"


async def test_what_groq_kept_back_is_an_error_as_a_value_and_an_outage_is_not() -> None:
    name = ModelName.parse("groq:llama-3.3-70b-versatile")
    kept = {"code": "tool_use_failed", "failed_generation": "<function=Plan>"}
    for refusal in (Refusal(400, fields=kept), Refusal(500)):
        with ProviderServer(always(refusal)) as server:
            options = ModelOptions(
                api_keys={"groq": "k"}, base_urls={"groq": server.url}, max_retries=0
            )
            model = build(name, options, "planner")
            if refusal.status == 500:
                with pytest.raises(ModelUnavailable):
                    await ask(model, QUESTION, Plan)
            else:
                answer = await ask(model, QUESTION, Plan)
                assert answer.value is None
                assert answer.said == "<function=Plan>"


async def test_an_agents_loop_ends_where_its_recording_does(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(yaml.safe_dump(RECORDING))
    options = ModelOptions(recordings=tmp_path)
    model = build(ModelName.parse("recording:a"), options, "executor")
    agent = create_agent(model, [double])
    with pytest.raises(RecordingMismatch, match=r"\+Double 22\."):
        await agent.ainvoke({"messages": [HumanMessage("Double 22.")]})

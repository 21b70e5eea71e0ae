"""What goes out to Groq is what its own client would send."""

from __future__ import annotations

from typing import Any

from groq import AsyncGroq
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from pydantic import BaseModel

from agents.models.build import build
from agents.models.name import ModelName
from agents.models.options import ModelOptions
from agents.models.provider import ProviderModel
from agents.tools.build import build_tools
from agents.tools.registry import TOOLS
from benchmarks.provider import ProviderServer, Reply, ToolCall, always

NAME = ModelName.parse("groq:llama-3.3-70b-versatile")
HISTORY = [
    SystemMessage("You write code."),
    HumanMessage("Find primes."),
    AIMessage(
        "At once.",
        tool_calls=[
            {"id": "c1", "name": "python", "args": {"code": "print(2)"}, "type": "tool_call"}
        ],
    ),
    ToolMessage("2\n", tool_call_id="c1"),
]


class Verdict(BaseModel):
    """The judgement."""

    verdict: str


async def both(turn: Reply, *, forced: bool) -> tuple[list[Any], list[Any]]:
    """The bodies of the two requests, and the two answers: ours, and the client's own."""
    with ProviderServer(always(turn)) as server:
        options = ModelOptions(api_keys={"groq": "key"}, base_urls={"groq": server.groq_url})
        model = build(NAME, options, "executor")
        assert isinstance(model, ProviderModel)
        inner: Any = model.inner
        answers = []
        for completions in (
            inner.async_client,
            AsyncGroq(api_key="key", base_url=server.groq_url).chat.completions,
        ):
            inner.async_client = completions
            bound = (
                model.bind_tools([Verdict], tool_choice="Verdict")
                if forced
                else model.bind_tools(build_tools(TOOLS))
            )
            answers.append(await bound.ainvoke(HISTORY))
        await model.aclose()
        bodies = [dict(request.body) for request in server.requests]
        for body in bodies:
            del body["stream"]  # ours is streamed, whatever LangChain asks for
        return bodies, answers


async def test_the_body_is_the_same() -> None:
    for forced in (False, True):
        (ours, theirs), _ = await both(Reply("ok"), forced=forced)
        assert ours == theirs
        assert (
            ours["messages"][2]["tool_calls"][0]["function"]["arguments"] == '{"code": "print(2)"}'
        )


async def test_the_answer_is_read_alike() -> None:
    call = ToolCall("python", {"code": "print(3)"})
    _, (ours, theirs) = await both(Reply("so", tool_calls=(call,)), forced=False)
    for answer in (ours, theirs):
        assert answer.tool_calls[0]["args"] == {"code": "print(3)"}
    for name in ("content", "usage_metadata", "invalid_tool_calls"):
        assert getattr(ours, name) == getattr(theirs, name)
    assert ours.response_metadata["finish_reason"] == theirs.response_metadata["finish_reason"]

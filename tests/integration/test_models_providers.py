"""The true clients of Groq and Gemini against a local server that speaks their wires."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool

from agents.models import (
    ModelName,
    ModelOptions,
    ModelPool,
    ModelRefused,
    ModelUnavailable,
    ProviderModel,
    ReplyMalformed,
    Usage,
    build,
    cut_off,
    malformed,
    price,
)
from bench.provider import (
    Cut,
    Garbled,
    Hang,
    ProviderServer,
    Refusal,
    Reply,
    Script,
    Tokens,
    ToolCall,
    Turn,
    always,
)

NAMES = ("groq:llama-3.3-70b-versatile", "google_genai:gemini-2.5-flash")
pytestmark = pytest.mark.parametrize("name", NAMES)


def options_for(server: ProviderServer, **more: Any) -> ModelOptions:
    return ModelOptions(
        api_keys={"groq": "groq-key", "google_genai": "google-key"},
        base_urls={"groq": server.groq_url, "google_genai": server.gemini_url},
        **more,
    )


@contextmanager
def asking(
    name: str, script: Script | list[Turn], **more: Any
) -> Iterator[tuple[ProviderModel, ProviderServer]]:
    with ProviderServer(script) as server:
        model = build(ModelName.parse(name), options_for(server, **more), "executor")
        assert isinstance(model, ProviderModel)
        model.patience = replace(model.patience, first_wait_seconds=0.01)
        yield model, server


@tool
def python(code: str) -> str:
    """Runs code."""
    return code


async def test_a_plain_reply_with_its_usage_and_price(name: str) -> None:
    tokens = Tokens(input=1_200, output=34, cached_input=1_000)
    with asking(name, [Reply("Hello.", tokens=tokens)]) as (model, server):
        reply = await model.ainvoke([SystemMessage("Be brief."), HumanMessage("Greet me.")])
    assert reply.text == "Hello."
    assert not cut_off(reply)
    usage = Usage.of(reply)
    assert usage == Usage(1_200, 34, 1_000)
    cost = price(ModelName.parse(name), usage)
    assert cost is not None
    assert cost > 0
    request = server.requests[0]
    assert [(m.speaker, m.text) for m in request.messages] == [
        ("system", "Be brief."),
        ("user", "Greet me."),
    ]
    assert request.model == ModelName.parse(name).model


async def test_what_the_options_say_is_what_is_sent(name: str) -> None:
    with asking(name, [Reply("x")], max_output_tokens=512, temperature=0.5) as (model, server):
        await model.ainvoke("hi")
    request = server.requests[0]
    if request.wire == "openai":
        assert request.headers["authorization"] == "Bearer groq-key"
        assert (request.body["max_tokens"], request.body["temperature"]) == (512, 0.5)
    else:
        assert request.headers["x-goog-api-key"] == "google-key"
        config = request.body["generationConfig"]
        thinking = config["thinkingConfig"]["thinking_budget"]
        assert (config["maxOutputTokens"] - thinking, config["temperature"]) == (512, 0.5)


async def test_a_tool_call_and_its_result(name: str) -> None:
    turns: list[Turn] = [Reply(tool_calls=(ToolCall("python", {"code": "1"}),)), Reply("done")]
    with asking(name, turns) as (model, server):
        bound = model.bind_tools([python])
        question = HumanMessage("Run it.")
        call = await bound.ainvoke([question])
        assert call.tool_calls[0]["args"] == {"code": "1"}
        result = ToolMessage("exit 0", tool_call_id=call.tool_calls[0]["id"], name="python")
        assert (await bound.ainvoke([question, call, result])).text == "done"
    first, second = server.requests
    assert first.tools == second.tools == ("python",)
    assert second.last_text == "exit 0"
    assert second.messages[1].tool_calls == (ToolCall("python", {"code": "1"}),)
    assert second.replies_so_far == 1


async def test_a_reply_cut_off_at_its_limit_says_so(name: str) -> None:
    with asking(name, [Reply("The answer is", stop="length")]) as (model, _):
        assert cut_off(await model.ainvoke("hi"))


async def test_arguments_that_are_no_json_are_no_call_and_no_answer(name: str) -> None:
    with asking(name, [Reply(tool_calls=(ToolCall("python", '{"code": "'),))]) as (model, _):
        reply = await model.bind_tools([python]).ainvoke("hi")
    assert malformed(reply)
    assert Usage.of(reply) == Usage(10, 5)


async def test_busy_is_asked_again_no_earlier_than_told(name: str) -> None:
    turns: list[Turn] = [Refusal(429, retry_after=0.4), Refusal(429, retry_after=0.2), Reply("ok")]
    with asking(name, turns) as (model, server):
        assert (await model.ainvoke("hi")).text == "ok"
    first, second, third = (request.at for request in server.requests)
    assert second - first >= 0.4
    assert third - second >= 0.2


async def test_busy_for_good_is_unavailable(name: str) -> None:
    busy = always(Refusal(429, "slow down", retry_after=0.05))
    with asking(name, busy, max_retries=2) as (model, server):
        with pytest.raises(ModelUnavailable, match="slow down") as caught:
            await model.ainvoke("hi")
        assert len(server.requests) == 3
    assert caught.value.status == 429
    assert caught.value.retry_after_seconds == 0.05


async def test_busy_for_longer_than_our_patience_is_not_waited_for(name: str) -> None:
    with asking(name, always(Refusal(429, retry_after=900))) as (model, server):
        with pytest.raises(ModelUnavailable) as caught:
            await model.ainvoke("hi")
        assert len(server.requests) == 1
    assert caught.value.retry_after_seconds == 900


@pytest.mark.parametrize(
    "fault",
    [
        Refusal(500),
        Refusal(503),
        Garbled(),
        Garbled("<html>Sign in to the proxy</html>", "text/html"),
        Garbled("{}"),
        Garbled("[]"),
        Cut(),
        Cut(Reply("x" * 1_000)),
    ],
    ids=["500", "503", "half a body", "html", "no choices", "a list", "cut", "cut in body"],
)
async def test_a_fault_is_tried_again_then_unavailable(name: str, fault: Turn) -> None:
    with asking(name, [fault, Reply("ok"), fault]) as (model, server):
        assert (await model.ainvoke("hi")).text == "ok"
        assert len(server.requests) == 2
        model.patience = replace(model.patience, retries=0)
        with pytest.raises(ModelUnavailable):
            await model.ainvoke("hi")
        assert len(server.requests) == 3


async def test_nobody_listening_is_unavailable(name: str) -> None:
    with asking(name, [], max_retries=0) as (model, _):
        pass
    with pytest.raises(ModelUnavailable, match="connect"):
        await model.ainvoke("hi")


async def test_a_hanging_provider_is_left_in_bounded_time(name: str) -> None:
    bounds = {"timeout_seconds": 0.3, "max_retries": 9, "total_seconds": 1.0}
    with asking(name, always(Hang()), **bounds) as (model, server):
        started = time.monotonic()
        with pytest.raises(ModelUnavailable, match="no reply within"):
            await model.ainvoke("hi")
        assert 0.9 < time.monotonic() - started < 2.0
        assert 2 <= len(server.requests) <= 4


async def test_one_try_takes_no_longer_than_all_may(name: str) -> None:
    with asking(name, always(Hang()), timeout_seconds=60, total_seconds=0.4) as (model, server):
        with pytest.raises(ModelUnavailable, match=r"no reply within 0\.4 s"):
            await model.ainvoke("hi")
        assert len(server.requests) == 1


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413])
async def test_a_refusal_is_final(name: str, status: int) -> None:
    with asking(name, always(Refusal(status, "no such thing"))) as (model, server):
        with pytest.raises(ModelRefused, match="no such thing") as caught:
            await model.ainvoke("hi")
        assert len(server.requests) == 1
    assert caught.value.status == status


async def test_a_blocked_prompt_is_refused(name: str) -> None:
    if name.startswith("groq"):
        body, error = '{"promptFeedback": {}}', ModelUnavailable
    else:
        body, error = '{"promptFeedback": {"blockReason": "SAFETY"}}', ModelRefused
    with asking(name, [Garbled(body)], max_retries=0) as (model, _), pytest.raises(error):
        await model.ainvoke("hi")


async def test_what_the_provider_kept_back_gets_one_more_try(name: str) -> None:
    kept = {"code": "tool_use_failed", "failed_generation": "<function=python>{"}
    with asking(name, always(Refusal(400, fields=kept))) as (model, server):
        with pytest.raises(ReplyMalformed) as caught:
            await model.ainvoke("hi")
        assert len(server.requests) == 2
    assert caught.value.said == "<function=python>{"


async def test_fifty_calls_at_once_are_fifty_times_one(name: str) -> None:
    with ProviderServer(always(Reply("ok", delay_seconds=0.5))) as server:
        pool = ModelPool(options_for(server))
        model = pool.get(ModelName.parse(name), "executor")
        assert pool.get(ModelName.parse(name), "critic") is model
        started = time.monotonic()
        replies = await asyncio.gather(*(model.ainvoke("hi") for _ in range(50)))
        assert time.monotonic() - started < 10  # one after the other: 25
        await pool.aclose()
    assert all(isinstance(reply, AIMessage) and reply.text == "ok" for reply in replies)
    assert len(server.requests) == 50


async def test_a_cancelled_call_is_not_tried_again(name: str) -> None:
    with asking(name, always(Hang())) as (model, server):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                await model.ainvoke("hi")
        await asyncio.sleep(0.1)
        assert len(server.requests) == 1

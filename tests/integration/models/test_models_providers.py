"""Every provider's real client against a local server with its wire format."""

from __future__ import annotations

import asyncio
import functools
import json
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import httpx
import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool

from agents.errors import (
    ModelRefused,
    ModelUnavailable,
    ReplyCut,
    ReplyUnusable,
    another_may_answer,
)
from agents.models.build import build
from agents.models.name import ModelName
from agents.models.options import ModelOptions
from agents.models.pool import ModelPool
from agents.models.provider import ProviderModel
from agents.models.providers import PROVIDERS
from agents.models.replies.ending import cut_off, malformed
from agents.models.streams import Chunk
from agents.models.streams.anthropic import AnthropicAssembler
from agents.models.streams.gemini import GeminiAssembler
from agents.models.streams.ollama import OllamaAssembler
from agents.models.streams.openai import OpenAIAssembler
from agents.ports.spending import Usage
from agents.spending.pricing import Prices
from lab.provider import (
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
from lab.provider.request import Wire
from lab.provider.turn import SIGNATURE
from lab.provider.wire import DIALECTS

pytestmark = pytest.mark.matrix(every=4)

NAMES = (
    "groq:llama-3.3-70b-versatile",
    "google_genai:gemini-2.5-flash",
    "openai:gpt-4.1-mini",
    "anthropic:claude-haiku-4-5",
    "deepseek:deepseek-v4-flash",
    "openrouter:openai/gpt-4.1-mini",
    "mistral:mistral-medium-latest",
    "azure:gpt-4.1-mini",
    "vertex:gemini-2.5-flash",
    "ollama:qwen3:8b",
    "compatible:meta-llama/Llama-3.1-8B-Instruct",
)
WIRES: dict[type, Wire] = {
    OpenAIAssembler: "openai",
    GeminiAssembler: "gemini",
    AnthropicAssembler: "anthropic",
    OllamaAssembler: "ollama",
}
UNPRICED = ("ollama", "compatible")
EACH = pytest.mark.parametrize("name", NAMES)
EACH_CLIENT = pytest.mark.parametrize(
    "name",
    [
        name
        for name in NAMES
        if name.partition(":")[0] not in ("deepseek", "openrouter", "compatible")
    ],
)
"""One model of each client library; the models that are left out use OpenAI's library."""
KEY_HEADERS = ("x-goog-api-key", "x-api-key", "api-key", "authorization")
TLS = functools.cache(httpx.create_ssl_context)


def options_for(server: ProviderServer, **more: Any) -> ModelOptions:
    keys = {provider: f"{provider}-key" for provider in PROVIDERS}
    return ModelOptions(api_keys=keys, base_urls=server.base_urls(), **more)


@contextmanager
def asking(
    name: str, script: Script | list[Turn], **more: Any
) -> Iterator[tuple[ProviderModel, ProviderServer]]:
    with ProviderServer(script) as server:
        model = build(ModelName.parse(name), options_for(server, **more), "executor", TLS())
        assert isinstance(model, ProviderModel)
        model.retry_policy = replace(model.retry_policy, first_wait_seconds=0.01)
        yield model, server


def provider_of(name: str) -> str:
    return ModelName.parse(name).provider


def wire_of(name: str) -> Wire:
    return WIRES[type(ModelName.parse(name).of.protocol.assembler())]


def streamed(name: str, data: str) -> Garbled:
    """A stream with only this event."""
    wire = wire_of(name)
    frame = "" if wire == "ollama" else "data: "
    return Garbled(f"{frame}{data}\n\n", DIALECTS[wire].stream_type)


@tool
def python(code: str) -> str:
    """Runs code."""
    return code


@EACH
async def test_a_plain_reply_with_its_usage_and_price(name: str) -> None:
    tokens = Tokens(input=1_200, output=34, cached_input=1_000, cache_write=150)
    with asking(name, [Reply("Hello, you. \u2028 Good day.", tokens=tokens)]) as (model, server):
        reply = await model.ainvoke([SystemMessage("Be brief."), HumanMessage("Greet me.")])
    assert reply.text == "Hello, you. \u2028 Good day."
    assert not cut_off(reply)
    usage = Usage.of(reply)
    # Some formats do not report cached tokens, and only Anthropic's reports written tokens.
    cached = 0 if name.startswith(("ollama", "mistral")) else 1_000
    written = 150 if name.startswith("anthropic") else 0
    assert usage == Usage(1_200, 34, cached, written)
    cost = Prices().of(ModelName.parse(name), usage)
    assert (cost is None) == (provider_of(name) in UNPRICED)
    assert cost is None or cost > 0
    request = server.requests[0]
    assert [(m.speaker, m.text) for m in request.messages] == [
        ("system", "Be brief."),
        ("user", "Greet me."),
    ]
    assert request.model == ModelName.parse(name).model
    assert request.stream


@EACH
async def test_the_request_has_the_values_of_the_options(name: str) -> None:
    with asking(name, [Reply("x")], max_output_tokens=512, temperature=0.5) as (model, server):
        await model.ainvoke("hi")
    request = server.requests[0]
    headers, body = request.headers, request.body
    sent_key = next(headers[name] for name in KEY_HEADERS if name in headers)
    assert sent_key.removeprefix("Bearer ") == f"{provider_of(name)}-key"
    match request.wire:
        case "openai":
            bound = body.get("max_completion_tokens") or body["max_tokens"]
            assert (bound, body["temperature"]) == (512, 0.5)
        case "anthropic":
            assert (body["max_tokens"], body["temperature"]) == (512, 0.5)
            assert body["cache_control"] == {"type": "ephemeral"}
        case "ollama":
            assert body["options"] == {"num_predict": 512, "num_ctx": 32_768, "temperature": 0.5}
        case "gemini":
            config = body["generationConfig"]
            thinking = config["thinkingConfig"]["thinking_budget"]
            assert (config["maxOutputTokens"] - thinking, config["temperature"]) == (512, 0.5)


@EACH_CLIENT
async def test_a_reply_that_was_not_streamed_is_read_alike(name: str) -> None:
    """Some servers cannot stream, even if the request asks for a stream."""
    turn = Reply("Yes.", (ToolCall("python", {"code": "1"}),), Tokens(20, 4))
    with asking(name, [turn]) as (model, _):
        streamed = await model.bind_tools([python]).ainvoke("hi")
    full_body = DIALECTS[wire_of(name)].reply(turn, ModelName.parse(name).model, 1)
    with asking(name, [Garbled(json.dumps(full_body))]) as (model, _):
        plain = await model.bind_tools([python]).ainvoke("hi")
    assert (plain.text, plain.usage_metadata) == (streamed.text, streamed.usage_metadata)
    assert [c["args"] for c in plain.tool_calls] == [c["args"] for c in streamed.tool_calls]
    assert plain.tool_calls[0]["args"] == {"code": "1"}


@EACH
async def test_parallel_tool_calls(name: str) -> None:
    calls = tuple(ToolCall("python", {"code": f"print({n})"}) for n in range(3))
    turns: list[Turn] = [Reply("All at once.", calls), Reply("done")]
    with asking(name, turns) as (model, server):
        bound = model.bind_tools([python])
        reply = await bound.ainvoke("hi")
        assert [call["args"] for call in reply.tool_calls] == [call.args for call in calls]
        assert len({call["id"] for call in reply.tool_calls}) == 3
        results = [
            ToolMessage(f"ran {n}", tool_call_id=call["id"], name="python")
            for n, call in enumerate(reply.tool_calls)
        ]
        await bound.ainvoke([HumanMessage("hi"), reply, *results])
    sent_messages = server.requests[1].messages
    assert [m.text for m in sent_messages if m.speaker == "tool"] == ["ran 0", "ran 1", "ran 2"]
    assert next(m.tool_calls for m in sent_messages if m.tool_calls) == calls


@EACH
async def test_a_conversation_with_another_provider_is_continued(name: str) -> None:
    """As in a fallback or an escalation during a job."""
    thought: dict[str, Any] = {"type": "thinking", "thinking": "hmm", "signature": "x"}
    use = {"type": "tool_use", "id": "t1", "name": "python", "input": {"code": "1"}}
    reply = AIMessage(
        [thought, {"type": "text", "text": "Let me run it."}, use],
        tool_calls=[{"name": "python", "args": {"code": "1"}, "id": "t1", "type": "tool_call"}],
        response_metadata={"model_provider": "another"},
    )
    result = ToolMessage("ran", tool_call_id="t1", name="python")
    with asking(name, [Reply("done")]) as (model, server):
        await model.bind_tools([python]).ainvoke([HumanMessage("hi"), reply, result])
    received = [(m.speaker, m.text.strip(), m.tool_calls) for m in server.requests[0].messages]
    # Mistral's client sends either the text or the calls.
    text = "" if name.startswith("mistral") else "Let me run it."
    assert received == [
        ("user", "hi", ()),
        ("assistant", text, (ToolCall("python", {"code": "1"}),)),
        ("tool", "ran", ()),
    ]
    body = server.requests[0].body
    assert "hmm" not in json.dumps(body.get("messages") or body["contents"])


class Ear:
    """A listener that stores the streamed tokens."""

    def __init__(self) -> None:
        self.tries: list[list[Chunk]] = []

    def begin(self) -> None:
        self.tries.append([])

    def receive(self, chunks: Sequence[Chunk]) -> None:
        self.tries[-1] += chunks

    def end(self) -> None:
        """Has no effect in this test."""

    def text(self, part: str = "text") -> str:
        return "".join(piece.text for piece in self.tries[-1] if piece.part == part)


@pytest.fixture
def ear() -> Ear:
    return Ear()


@EACH_CLIENT
async def test_the_listener_receives_tokens_while_they_come(name: str, ear: Ear) -> None:
    text = "A text that is long enough to come in several chunks, one after the other."
    call = ToolCall("python", {"code": "print('hi')"})
    streamed_reply = Reply(text, (call,))
    with asking(name, [streamed_reply, Hang(after=streamed_reply)]) as (model, _):
        bound = model.for_call(listener=ear).bind_tools([python])
        reply = await bound.ainvoke("hi")
        assert reply.text == ear.text() == text
        assert json.loads(ear.text("tool")) == reply.tool_calls[0]["args"]
        speaking = asyncio.create_task(bound.ainvoke("hi"))
        async with asyncio.timeout(20):  # received before the end of the reply
            while len(ear.tries) < 2 or not ear.text():
                await asyncio.sleep(0.01)
        assert text.startswith(ear.text())
        assert not speaking.done()
        speaking.cancel()
        await asyncio.wait({speaking})


@EACH
async def test_thoughts_are_received_counted_and_sent_back_unchanged(name: str, ear: Ear) -> None:
    thoughts = "It wants a run, so I had better run it."
    call = ToolCall("python", {"code": "1"})
    first = Reply("I run it.", (call,), Tokens(10, 35, thoughts=30), thoughts=thoughts)
    with asking(name, [first, Reply("done")]) as (model, server):
        bound = model.for_call(listener=ear).bind_tools([python])
        reply = await bound.ainvoke("hi")
        assert (ear.text("reasoning"), ear.text()) == (thoughts, reply.text)
        assert (reply.text, Usage.of(reply)) == ("I run it.", Usage(10, 35))
        ran = ToolMessage("ran", tool_call_id=reply.tool_calls[0]["id"], name="python")
        await bound.ainvoke([HumanMessage("hi"), reply, ran])
    body = server.requests[1].body
    match wire_of(name):
        case "anthropic":
            thought = {"type": "thinking", "thinking": thoughts, "signature": SIGNATURE}
            hidden = {"type": "redacted_thinking", "data": SIGNATURE}
            assert body["messages"][1]["content"][:2] == [thought, hidden]
        case "gemini":
            thought, _, call_part = body["contents"][1]["parts"]
            assert thought == {"text": thoughts, "thought": True}
            assert call_part["thoughtSignature"] == SIGNATURE
        case "ollama":
            assert body["messages"][1]["thinking"] == thoughts
        case "openai":
            sent = "reasoning" if name.startswith("groq") else "reasoning_content"
            assert body["messages"][1][sent] == thoughts
            assert json.dumps(body).count(thoughts) == 1


@EACH_CLIENT
async def test_a_lone_surrogate_can_be_sent_back(name: str) -> None:
    """Two halves that arrive separately, here in two chunks of the stream, form one character."""
    text = "fifteen letters\ud83d\ude00 and half: \ud83d"
    call = ToolCall("python", {"code": "print('\ud83d')"})
    with asking(name, [Reply(text, (call,)), Reply("done")]) as (model, server):
        bound = model.bind_tools([python])
        reply = await bound.ainvoke("hi")
        ran = ToolMessage("ran", tool_call_id=reply.tool_calls[0]["id"], name="python")
        assert (await bound.ainvoke([HumanMessage("hi"), reply, ran])).text == "done"
    assert reply.text == "fifteen letters\U0001f600 and half: \ufffd"
    sent_messages = server.requests[1].messages
    assert next(m.tool_calls for m in sent_messages if m.tool_calls) == (
        ToolCall("python", {"code": "print('\ufffd')"}),
    )


@EACH
async def test_a_reply_that_ends_at_its_limit_is_marked(name: str) -> None:
    with asking(name, [Reply("The answer is", stop="length")]) as (model, _):
        assert cut_off(await model.ainvoke("hi"))


@EACH
async def test_arguments_with_invalid_json_are_neither_a_call_nor_an_answer(name: str) -> None:
    broken = Reply(tool_calls=(ToolCall("python", '{"code": "'),))
    with asking(name, [broken, Reply("Hello.")]) as (model, server):
        reply = await model.bind_tools([python]).ainvoke("hi")
    if wire_of(name) == "gemini":  # its reply does not contain the call
        assert "a tool call that is not valid" in server.requests[1].last_text
        assert "`python`" in server.requests[1].last_text
        assert reply.text == "Hello."
    else:
        assert malformed(reply)
        assert Usage.of(reply) == Usage(10, 5)


def with_call(name: str, call_name: Any, arguments: Any) -> Garbled:
    """A complete reply with one tool call; its name and arguments are any JSON."""
    body = DIALECTS[wire_of(name)].reply(
        Reply(tool_calls=(ToolCall("python", {}),)), ModelName.parse(name).model, 1
    )
    match wire_of(name):
        case "openai":
            function = body["choices"][0]["message"]["tool_calls"][0]["function"]
            function |= {"name": call_name, "arguments": arguments}
        case "gemini":
            part = body["candidates"][0]["content"]["parts"][0]
            part["functionCall"] |= {"name": call_name, "args": arguments}
        case "anthropic":
            body["content"][0] |= {"name": call_name, "input": arguments}
        case "ollama":
            function = body["message"]["tool_calls"][0]["function"]
            function |= {"name": call_name, "arguments": arguments}
    return Garbled(json.dumps(body))


@tool
def read(path: str, offset: int = 1, words: list[str] | None = None) -> str:
    """Reads a file."""
    return path


@EACH
@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        ({"path": "a", "offset": None, "words": None}, {"path": "a"}),
        ({"path": 5, "offset": "2", "words": '["a"]'}, {"path": "5", "offset": 2, "words": ["a"]}),
        ({"path": '{"a": [1, 2]}'}, {"path": '{"a": [1, 2]}'}),
        (json.dumps(json.dumps({"path": "a"})), {"path": "a"}),
        ([{"path": "a"}], {"path": "a"}),
        (None, {}),
        ("", {}),
    ],
    ids=["null", "text", "json", "encoded twice", "in a list", "none", "empty"],
)
async def test_arguments_are_converted_to_the_intended_values(
    name: str, sent: Any, expected: dict[str, Any]
) -> None:
    if wire_of(name) == "openai" and isinstance(sent, dict):
        sent = json.dumps(sent)
    with asking(name, [with_call(name, "read", sent), Reply("done")]) as (model, server):
        bound = model.bind_tools([read])
        reply = await bound.ainvoke("hi")
        (call,) = reply.tool_calls
        assert (call["name"], call["args"]) == ("read", expected)
        done = ToolMessage("done", tool_call_id=call["id"], name="read")
        await bound.ainvoke([HumanMessage("hi"), reply, done])
    calls = next(m.tool_calls for m in server.requests[1].messages if m.tool_calls)
    assert [call.args for call in calls] == [expected]


@EACH
@pytest.mark.parametrize("sent", ["[1, 2]", [1, 2], 5, "ls -l", True], ids=repr)
async def test_arguments_without_an_object_are_an_error_of_the_model(name: str, sent: Any) -> None:
    with asking(name, [with_call(name, "read", sent)]) as (model, server):
        reply = await model.bind_tools([read]).ainvoke("hi")
    assert malformed(reply)
    assert len(server.requests) == 1
    (call,) = reply.invalid_tool_calls
    assert call["args"] == (sent if isinstance(sent, str) else json.dumps(sent))


@EACH
async def test_a_call_without_a_name_is_not_an_outage(name: str) -> None:
    with asking(name, [with_call(name, None, {})]) as (model, _):
        reply = await model.bind_tools([read]).ainvoke("hi")
    assert [call["name"] for call in reply.tool_calls] == [""]


def ending(name: str, turn: Reply, reason: str | None) -> Garbled:
    """The complete reply with another finish reason."""
    body = DIALECTS[wire_of(name)].reply(turn, ModelName.parse(name).model, 1)
    match wire_of(name):
        case "openai":
            body["choices"][0]["finish_reason"] = reason
        case "gemini":
            body["candidates"][0]["finishReason"] = reason
        case "anthropic":
            body["stop_reason"] = reason
        case "ollama":
            body["done_reason"] = reason
    return Garbled(json.dumps(body))


@EACH_CLIENT
@pytest.mark.parametrize("reason", ["OTHER", "MALFORMED_RESPONSE", "UNEXPECTED_TOOL_CALL"])
async def test_a_reply_with_a_bad_finish_reason_is_requested_again(name: str, reason: str) -> None:
    half = ending(name, Reply("Half a sen"), reason)
    with asking(name, [half, Reply("A sentence.")]) as (model, server):
        assert (await model.ainvoke("hi")).text == "A sentence."
    sent_messages = server.requests[1].messages
    assert [message.text for message in sent_messages][:2] == ["hi", "Half a sen"]
    assert reason.lower() in sent_messages[2].text
    with asking(name, [half, half]) as (model, server), pytest.raises(ReplyUnusable) as caught:
        await model.ainvoke("hi")
    assert reason.lower() in str(caught.value)


@EACH_CLIENT
@pytest.mark.parametrize("reason", ["error", "abort", "network_error"])
async def test_an_interrupted_reply_is_requested_again_unchanged(name: str, reason: str) -> None:
    half = ending(name, Reply("Half a sen"), reason)
    with asking(name, [half, Reply("A sentence.")]) as (model, server):
        assert (await model.ainvoke("hi")).text == "A sentence."
    assert [message.text for message in server.requests[1].messages] == ["hi"]
    with asking(name, [half, half]) as (model, server), pytest.raises(ModelUnavailable) as caught:
        await model.ainvoke("hi")
    assert f"ended with `{reason}`" in str(caught.value)


@EACH_CLIENT
@pytest.mark.parametrize("reason", ["eos", "STOP", "completed", None])
async def test_a_complete_reply_with_an_unknown_finish_reason_is_an_answer(
    name: str, reason: str | None
) -> None:
    calls = Reply(tool_calls=(ToolCall("python", {"code": "1"}),))
    turns = [ending(name, Reply("Hello."), reason), ending(name, calls, reason)]
    with asking(name, turns) as (model, _):
        assert (await model.ainvoke("hi")).text == "Hello."
        reply = await model.bind_tools([python]).ainvoke("hi")
    assert [call["args"] for call in reply.tool_calls] == [{"code": "1"}]


@EACH_CLIENT
@pytest.mark.parametrize(
    ("turn", "reason"),
    [
        (Reply(""), "is empty"),
        (Reply("\n \u200b"), "is empty"),
        (Reply("", thoughts="I should run it."), "has thoughts, and no answer|is empty"),
        (Reply("", stop="length"), r"cut off at the limit on its length \(5 tokens\)"),
    ],
    ids=["empty", "blank", "thoughts", "cut"],
)
async def test_a_reply_without_a_text_or_a_call_is_requested_again(
    name: str, turn: Reply, reason: str
) -> None:
    with asking(name, [turn, Reply("Hello.")]) as (model, server):
        assert (await model.bind_tools([python]).ainvoke("hi")).text == "Hello."
    assert re.search(reason, server.requests[1].last_text)
    with asking(name, [turn, turn]) as (model, server), pytest.raises(ReplyUnusable, match=reason):
        await model.ainvoke("hi")


@EACH_CLIENT
async def test_a_declined_reply_is_not_requested_again(
    name: str,
) -> None:
    turn = ending(name, Reply("I can"), "SAFETY")
    with asking(name, [turn]) as (model, server), pytest.raises(ModelRefused, match="declined"):
        await model.ainvoke("hi")
    assert len(server.requests) == 1


@EACH_CLIENT
async def test_a_busy_provider_is_not_tried_again_before_the_requested_time(name: str) -> None:
    turns: list[Turn] = [Refusal(429, retry_after=0.4), Refusal(429, retry_after=0.2), Reply("ok")]
    with asking(name, turns) as (model, server):
        assert (await model.ainvoke("hi")).text == "ok"
    first, second, third = (request.at for request in server.requests)
    assert second - first >= 0.4
    assert third - second >= 0.2


@EACH_CLIENT
async def test_a_provider_that_stays_busy_is_unavailable(name: str) -> None:
    busy = always(Refusal(429, "slow down", retry_after=0.05))
    with asking(name, busy, max_retries=2) as (model, server):
        with pytest.raises(ModelUnavailable, match="slow down") as caught:
            await model.ainvoke("hi")
        assert len(server.requests) == 3
    assert caught.value.status == 429
    assert caught.value.retry_after_seconds == 0.05


@EACH_CLIENT
@pytest.mark.parametrize(
    "fault",
    [
        Refusal(500),
        Garbled(),
        Garbled("<html>Sign in to the proxy</html>", "text/html"),
        Garbled("{}"),
        Cut(),
        Cut(Reply("x" * 1_000)),
    ],
    ids=["500", "half a body", "html", "no choices", "cut", "cut in body"],
)
async def test_a_fault_is_tried_again_then_unavailable(name: str, fault: Turn) -> None:
    with asking(name, [fault, Reply("ok"), fault]) as (model, server):
        assert (await model.ainvoke("hi")).text == "ok"
        assert len(server.requests) == 2
        model.retry_policy = replace(model.retry_policy, retries=0)
        with pytest.raises(ModelUnavailable):
            await model.ainvoke("hi")
        assert len(server.requests) == 3


@EACH_CLIENT
async def test_a_silent_provider_is_tried_again_with_longer_limits(name: str) -> None:
    bounds = {"first_token_seconds": 0.2, "connect_seconds": 0.1}
    with asking(name, always(Hang()), **bounds) as (model, server):
        with pytest.raises(ModelUnavailable, match=r"no token within 0\.4 s") as caught:
            await model.ainvoke("hi")
        assert len(server.requests) == 2
    assert "FETTLE_MODEL_FIRST_TOKEN_SECONDS" in str(caught.value)


@EACH_CLIENT
async def test_a_reply_that_falls_silent_is_requested_once_more_and_then_abandoned(
    name: str,
) -> None:
    """This is no outage: the next model may be called, but the job is not tried again later."""
    bounds = {"total_seconds": 0.5, "connect_seconds": 5.0}
    stalls = Hang(after=Reply("so far so good " * 10))
    with asking(name, [stalls, Reply("ok")], **bounds) as (model, _):
        assert (await model.ainvoke("hi")).text == "ok"
    with asking(name, always(stalls), **bounds) as (model, server):
        with pytest.raises(ReplyCut, match=r"no token for 1 s, after about \d+ tokens") as caught:
            await model.ainvoke("hi")
        assert len(server.requests) == 2
    assert "FETTLE_MODEL_TIMEOUT_SECONDS" in str(caught.value)
    assert another_may_answer(caught.value)


@EACH_CLIENT
async def test_a_reply_must_start_within_the_limit_of_a_call(name: str) -> None:
    with asking(name, always(Hang()), total_seconds=0.3) as (model, server):
        with pytest.raises(ModelUnavailable, match=r"no token within 0\.3 s") as caught:
            await model.ainvoke("hi")
        assert len(server.requests) == 1
    assert "FETTLE_MODEL_TIMEOUT_SECONDS" in str(caught.value)


@EACH_CLIENT
async def test_keepalive_events_extend_the_wait_up_to_a_limit(name: str) -> None:
    bounds = {"total_seconds": 0.25, "connect_seconds": 5.0, "max_retries": 0}
    with asking(name, always(Hang(alive_seconds=0.02)), **bounds) as (model, _):
        started = time.monotonic()
        with pytest.raises(ModelUnavailable, match=r"no token for 0\.75 s.* only signs of life"):
            await model.ainvoke("hi")
        assert time.monotonic() - started >= 0.75


@EACH_CLIENT
async def test_a_reply_may_take_longer_than_any_limit_on_silence(name: str) -> None:
    bounds = {"first_token_seconds": 0.2, "connect_seconds": 5.0, "total_seconds": 0.3}
    with asking(name, always(Reply("word " * 40, pace_seconds=0.06)), **bounds) as (model, server):
        assert (await model.ainvoke("hi")).text == "word " * 40
        assert len(server.requests) == 1


@EACH_CLIENT
async def test_an_endless_reply_is_cut_off_and_not_requested_again(name: str) -> None:
    endless = always(Reply("word " * 5_000, pace_seconds=0.01))
    bounds = {"first_token_seconds": 1.0, "max_output_tokens": 20, "tokens_per_second": 5_000.0}
    with asking(name, endless, **bounds) as (model, server):
        with pytest.raises(ReplyCut, match=r"the reply was cut after .* tokens") as caught:
            await model.ainvoke("hi")
        assert len(server.requests) == 1
    assert "FETTLE_MODEL_MIN_TOKENS_PER_SECOND" in str(caught.value)
    assert "FETTLE_MAX_OUTPUT_TOKENS" in str(caught.value)


@EACH
async def test_a_declined_request_is_refused_with_the_text_of_the_model(name: str) -> None:
    if name.startswith("ollama"):
        return  # its format has no word for this
    with asking(name, [Reply(refusal="I cannot help with that.")]) as (model, server):
        with pytest.raises(ModelRefused, match="declined to answer") as caught:
            await model.ainvoke("hi")
        assert len(server.requests) == 1
    assert "SAFETY" in str(caught.value) or "I cannot help" in str(caught.value)


@EACH_CLIENT
async def test_an_error_within_the_stream_has_its_kind(name: str) -> None:
    match ModelName.parse(name).of.protocol.assembler():
        case AnthropicAssembler():
            data = {"type": "error", "error": {"type": "overloaded_error", "message": "no room"}}
        case OllamaAssembler():
            data = {"error": "no room"}
        case _:
            data = {"error": {"code": 503, "message": "no room"}}
    error = streamed(name, json.dumps(data))
    with asking(name, [error, Reply("ok")]) as (model, _):
        assert (await model.ainvoke("hi")).text == "ok"
    with ProviderServer(always(error)) as server:
        model = build(ModelName.parse(name), options_for(server, max_retries=0), "critic", TLS())
        with pytest.raises(ModelUnavailable, match="no room"):
            await model.ainvoke("hi")


@EACH_CLIENT
@pytest.mark.parametrize("status", [400, 401])
async def test_a_refusal_is_final(name: str, status: int) -> None:
    with asking(name, always(Refusal(status, "no such thing"))) as (model, server):
        with pytest.raises(ModelRefused, match="no such thing") as caught:
            await model.ainvoke("hi")
        assert len(server.requests) == 1
    assert caught.value.status == status


@pytest.mark.parametrize("name", NAMES[:1])
async def test_a_withheld_reply_gets_one_more_try(name: str) -> None:
    withheld = {"code": "tool_use_failed", "failed_generation": "<function=python>{"}
    with asking(name, always(Refusal(400, fields=withheld))) as (model, server):
        with pytest.raises(ReplyUnusable) as caught:
            await model.ainvoke("hi")
        assert len(server.requests) == 2
    assert caught.value.text == "<function=python>{"
    assert "has a tool call that is not valid" in server.requests[1].last_text


@pytest.mark.parametrize("name", NAMES[:1])
async def test_fifty_calls_at_once_get_their_own_replies(name: str) -> None:
    with ProviderServer(always(Reply("ok", delay_seconds=0.4))) as server:
        pool = ModelPool(options_for(server))
        model = pool.get(ModelName.parse(name), "executor")
        assert pool.get(ModelName.parse(name), "critic") is model
        started = time.monotonic()
        replies = await asyncio.gather(*(model.ainvoke("hi") for _ in range(50)))
        assert time.monotonic() - started < 15  # one after the other: 20
        await pool.aclose()
    assert all(isinstance(reply, AIMessage) and reply.text == "ok" for reply in replies)
    assert len(server.requests) == 50


@EACH_CLIENT
async def test_a_cancelled_call_is_not_tried_again(name: str) -> None:
    with asking(name, always(Hang())) as (model, server):
        calling = asyncio.create_task(model.ainvoke("hi"))
        while not server.requests:
            await asyncio.sleep(0.01)
        calling.cancel()
        with pytest.raises(asyncio.CancelledError):
            await calling
        await asyncio.sleep(0.1)
        assert len(server.requests) == 1

"""After a refusal, every client library sends the next form of the request."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from pydantic import BaseModel

from agents.errors import ContextExceeded, ModelRefused
from agents.models.build import build
from agents.models.capabilities.body import output_limit
from agents.models.capabilities.record import Capabilities, MemoryCapabilities
from agents.models.name import ModelName
from agents.models.options import ModelOptions
from agents.models.provider import ProviderModel
from agents.models.providers import PROVIDERS
from agents.models.replies.structured import ask
from agents.redaction import Redaction
from lab.provider import Garbled, ProviderServer, Refusal, Reply, Request, ToolCall, Turn

NAMES = (
    "groq:llama-3.3-70b-versatile",
    "google_genai:gemini-2.5-flash",
    "openai:gpt-4.1-mini",
    "anthropic:claude-haiku-4-5",
    "deepseek:deepseek-v4-flash",
    "openrouter:openai/gpt-4.1-mini",
    "ollama:qwen3:8b",
    "compatible:meta-llama/Llama-3.1-8B-Instruct",
)
EACH = pytest.mark.parametrize("name", NAMES)
QUESTION = [HumanMessage("Is it good?")]


class Verdict(BaseModel):
    """Whether it is good."""

    good: bool


@contextmanager
def learning(
    name: str, script: Callable[[Request], Turn], store: MemoryCapabilities, **more: Any
) -> Iterator[tuple[ProviderModel, ProviderServer]]:
    """A model over a server with this script, and over a store of learned capabilities."""
    with ProviderServer(script) as server:
        keys = dict.fromkeys(PROVIDERS, "key")
        options = ModelOptions(api_keys=keys, base_urls=server.base_urls(), **more)
        model = build(ModelName.parse(name), options, "critic", capabilities=store)
        assert isinstance(model, ProviderModel)
        yield model, server


def choice_of(body: Mapping[str, Any]) -> Any:
    return body.get("tool_choice") or body.get("toolConfig")


@EACH
async def test_a_lone_tool_is_forced_without_its_name(name: str) -> None:
    reply = Reply(tool_calls=(ToolCall("Verdict", {"good": True}),))
    with learning(name, lambda _: reply, MemoryCapabilities()) as (model, server):
        answer = await ask(model, QUESTION, Verdict)
    assert answer.value == Verdict(good=True)
    request = server.requests[0]
    match request.wire:
        case "openai":
            assert choice_of(request.body) == "required"
        case "anthropic":
            assert choice_of(request.body) == {"type": "any"}
            assert "cache_control" not in request.body  # a single question is not repeated
        case "gemini":
            assert choice_of(request.body)["functionCallingConfig"]["mode"] == "ANY"


def refusing(wire: str, field: str) -> Refusal:
    """The refusal of a server with this wire format for an unknown field."""
    name = field.rpartition(".")[2]
    match wire:
        case "gemini":
            section = f" at '{field.rpartition('.')[0]}'" if "." in field else ""
            return Refusal(400, f'Unknown name "{name}"{section}: Cannot find field.')
        case "anthropic":
            return Refusal(400, f"{name}: Extra inputs are not permitted")
        case _:
            return Refusal(400, f"Unsupported parameter: '{name}'", fields={"param": field})


def value_of(body: Mapping[str, Any], field: str) -> Any:
    section, _, name = field.rpartition(".")
    return (body.get(section) or {}).get(name) if section else body.get(name)


WIRES = {"google_genai": "gemini", "ollama": "ollama"}
SAMPLING = {
    "gemini": "generationConfig.temperature",
    "ollama": "options.temperature",
}


@EACH
async def test_a_refused_field_is_dropped_at_once_and_for_the_next_calls(name: str) -> None:
    store = MemoryCapabilities()

    def script(request: Request) -> Turn:
        field = SAMPLING.get(request.wire, "temperature")
        refused = value_of(request.body, field) is not None
        return refusing(request.wire, field) if refused else Reply("ok")

    with learning(name, script, store) as (model, server):
        assert (await model.ainvoke("hi")).text == "ok"
        assert (await model.ainvoke("hi")).text == "ok"
    assert len(server.requests) == 3
    first, second, third = (dict(request.body) for request in server.requests)
    assert second == third
    assert first != second
    record = await store.read(name)
    assert record.drop == {SAMPLING.get(server.requests[0].wire, "temperature")}
    with learning(name, script, store) as (model, server):  # as another worker would
        assert (await model.ainvoke("hi")).text == "ok"
    assert len(server.requests) == 1


@EACH
async def test_a_server_that_refuses_to_force_a_tool_is_not_asked_to(name: str) -> None:
    store = MemoryCapabilities()

    def script(request: Request) -> Turn:
        if choice_of(request.body):
            return Refusal(400, "tool_choice / function calling mode is not supported here")
        return Reply('{"good": true}')

    with learning(name, script, store) as (model, server):
        assert (await ask(model, QUESTION, Verdict)).value == Verdict(good=True)
        assert (await ask(model, QUESTION, Verdict)).value == Verdict(good=True)
    assert [choice_of(request.body) is None for request in server.requests[-2:]] == [True, True]
    assert len(server.requests) == (2 if name.startswith("ollama") else 3)
    assert all(request.tools == ("Verdict",) for request in server.requests)


@EACH
async def test_too_many_output_tokens_are_lowered_to_the_number_in_the_refusal(name: str) -> None:
    store = MemoryCapabilities()

    def script(request: Request) -> Turn:
        requested = output_limit(request.body)
        assert requested is not None
        if requested > 1_000:
            return Refusal(
                400, f"max_tokens: {requested} > 1000, the maximum allowed output tokens"
            )
        return Reply(str(requested))

    with learning(name, script, store) as (model, server):
        for _ in range(2):
            assert (await model.ainvoke("hi")).text == "1000"
    assert len(server.requests) == 3
    assert (await store.read(name)).max_output_tokens == 1_000


@EACH
async def test_a_long_request_gets_a_limit_on_output_that_fits_the_context(name: str) -> None:
    """The limit applies to this request only. A request that leaves too few tokens is too long."""
    context, store = 40_000, MemoryCapabilities()

    def script(request: Request) -> Turn:
        requested, input_tokens = output_limit(request.body), len(request.last_text)
        assert requested is not None
        if input_tokens + requested > context:
            return Refusal(
                400,
                f"This model's maximum context length is {context} tokens. However, you requested "
                f"{input_tokens + requested} tokens ({input_tokens} in the messages, {requested} "
                "in the completion).",
            )
        return Reply(str(requested))

    with learning(name, script, store, max_output_tokens=20_000) as (model, server):
        usual = int((await model.ainvoke("hi")).text)
        room = int((await model.ainvoke("x" * 37_000)).text)
        assert 2_900 <= room < 3_000
        assert int((await model.ainvoke("hi")).text) == min(usual, context // 2)
        assert len(server.requests) == 4
        with pytest.raises(ContextExceeded):
            await model.ainvoke("x" * 39_900)
        assert len(server.requests) == 5
    assert await store.read(name) != Capabilities()
    assert (await store.read(name)).context_tokens == context


@EACH
async def test_a_form_without_success_is_not_remembered(name: str) -> None:
    store = MemoryCapabilities()
    reason = "temperature is not supported"
    with (
        learning(name, lambda _: Refusal(400, reason), store) as (model, server),
        pytest.raises(ModelRefused, match="temperature"),
    ):
        await model.ainvoke("hi")
    assert len(server.requests) == 2
    assert await store.read(name) == Capabilities()


@pytest.mark.parametrize("name", ["compatible:qwen", "openai:gpt-4.1-mini"])
async def test_an_error_that_comes_with_status_200_teaches_as_well(name: str) -> None:
    def script(request: Request) -> Turn:
        if "seed" not in request.body and "temperature" in request.body:
            error = {"code": 400, "message": "Unknown parameter: 'temperature'."}
            return Garbled(f"data: {json.dumps({'error': error})}\n\n", "text/event-stream")
        return Reply("ok")

    with learning(name, script, MemoryCapabilities()) as (model, server):
        assert (await model.ainvoke("hi")).text == "ok"
    assert len(server.requests) == 2


@EACH
async def test_a_gateway_gets_the_headers_and_fields_that_the_operator_sets(name: str) -> None:
    provider = name.partition(":")[0]
    field = SAMPLING.get(WIRES.get(provider, ""), "temperature")
    section, _, option = field.rpartition(".")
    patch: dict[str, Any] = {option: None, "top_p": 0.5}
    settings = {
        "headers": {
            f"{provider}:*": {"x-gateway": "all", "x-own": "no"},
            name: {"x-own": "yes", "user-agent": None},
        },
        "bodies": {name: {section: patch} if section else patch, "groq:other": {"x": 1}},
    }
    store = MemoryCapabilities()
    with learning(name, lambda _: Reply("ok"), store, **settings) as (model, server):
        assert (await model.ainvoke("hi")).text == "ok"
    request = server.requests[0]
    assert (request.headers["x-gateway"], request.headers["x-own"]) == ("all", "yes")
    assert "user-agent" not in request.headers
    assert value_of(request.body, field) is None
    assert value_of(request.body, f"{section}.top_p" if section else "top_p") == 0.5
    assert output_limit(request.body) is not None
    assert "x" not in request.body


@EACH
async def test_an_operator_overrides_what_was_learned(name: str) -> None:
    provider = name.partition(":")[0]
    field = SAMPLING.get(WIRES.get(provider, ""), "temperature")
    store = MemoryCapabilities()
    await store.write(name, Capabilities(drop=frozenset({field}), max_output_tokens=100))
    override = {"capabilities": {f"{provider}:*": {"drop": []}}}
    with learning(name, lambda _: Reply("ok"), store, **override) as (model, server):
        await model.ainvoke("hi")
    assert value_of(server.requests[0].body, field) is not None
    assert output_limit(server.requests[0].body) == 100
    override = {"capabilities": {name: {"max_output_tokens": 200, "drop": [field]}}}
    with learning(name, lambda _: Reply("ok"), store, **override) as (model, server):
        await model.ainvoke("hi")
    assert value_of(server.requests[0].body, field) is None
    assert output_limit(server.requests[0].body) == 200


async def test_a_field_that_the_operator_sets_is_sent_even_if_the_server_refuses_it() -> None:
    store = MemoryCapabilities()
    refusal = Refusal(400, "Unknown parameter: 'top_k'", fields={"param": "top_k"})
    bodies = {"compatible:qwen": {"top_k": 3}}
    with (
        learning("compatible:qwen", lambda _: refusal, store, bodies=bodies) as (model, server),
        pytest.raises(ModelRefused, match="top_k"),
    ):
        await model.ainvoke("hi")
    assert len(server.requests) == 1


async def test_no_error_repeats_a_secret_header() -> None:
    headers = {"compatible:*": {"x-gateway-key": "hidden-key-1"}}
    redaction = Redaction.of(["hidden-key-1"])
    refusal = Refusal(403, "the key hidden-key-1 is unknown")
    store = MemoryCapabilities()
    more = {"headers": headers, "redaction": redaction}
    with (
        learning("compatible:qwen", lambda _: refusal, store, **more) as (model, _),
        pytest.raises(ModelRefused) as caught,
    ):
        await model.ainvoke("hi")
    assert "hidden-key-1" not in str(caught.value)
    assert "hidden-key-1" not in repr(model)


async def test_all_refused_fields_are_learned_in_one_call() -> None:
    """As many servers as there are refused fields are called once each."""
    refused = ("tool_choice", "stream_options", "temperature", "max_tokens", "stream")

    def script(request: Request) -> Turn:
        for field in refused:
            if field in request.body:
                detail = {"loc": ["body", field], "msg": "Extra inputs are not permitted"}
                return Refusal(422, fields={"detail": [detail]})
        return Reply(tool_calls=(ToolCall("Verdict", {"good": True}),))

    store = MemoryCapabilities()
    with learning("compatible:qwen", script, store) as (model, server):
        assert (await ask(model, QUESTION, Verdict)).value == Verdict(good=True)
        requested = len(server.requests)
        assert (await ask(model, QUESTION, Verdict)).value == Verdict(good=True)
    assert requested == len(refused) + 1
    assert len(server.requests) == requested + 1
    assert server.requests[-1].body["max_completion_tokens"] == 8_192
    assert (await store.read("compatible:qwen")).rename == {"max_tokens": "max_completion_tokens"}

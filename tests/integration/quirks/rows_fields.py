"""Fields that a server needs back, and histories that are valid for their receiver."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from support.quirks.edits import each_call_part, with_calls
from support.quirks.quirk import (
    Event,
    Quirk,
    ReceivedRequest,
    each_event,
    plays,
    refuses,
    role,
    says,
    second_call,
)
from support.quirks.refusals import DEEPSEEK_THOUGHTS, GEMINI_SIGNATURE, KIMI_THOUGHTS
from support.quirks.row import Ran, Row, anthropic, gemini, ollama, on_all, openai
from support.quirks.server import CODE, calls, competent

from lab.provider import Refusal, Reply, Request, ToolCall, Turn
from lab.provider.turn import SIGNATURE

_THOUGHTS = "It wants a run of a program, so I call the tool that runs one."
_ITEM_GONE = "Item with id 'rs_053a05e24b0d' not found. Items are not persisted with `store` false."
_AGAIN = "print(6 * 7.0)"
_TWICE = calls(ToolCall("python", {"code": CODE}), ToolCall("python", {"code": _AGAIN}))
"""A model that makes two runs, one after the other."""

thinks = says(lambda reply: replace(reply, thoughts=_THOUGHTS))
"""A model that shows its thoughts."""


def own_replies(request: Request) -> Sequence[Mapping[str, Any]]:
    """OpenAI, Ollama: the messages of the model in a request."""
    return [message for message in request.body["messages"] if message["role"] == "assistant"]


def lacks(name: str, value: object) -> Callable[[ReceivedRequest], bool]:
    """For requests with a reply that lacks a field, or has another value of it."""
    return lambda received: any(reply.get(name) != value for reply in own_replies(received.request))


def lacks_in_a_call(*path: str, value: object) -> Callable[[ReceivedRequest], bool]:
    """Whether a field of a call is missing: `path` are the names from the call to the field."""

    def value_in(call: Any) -> object:
        for name in path:
            call = (call or {}).get(name)
        return call

    return lambda received: any(
        value_in(call) != value
        for reply in own_replies(received.request)
        for call in reply.get("tool_calls") or ()
    )


def has_field(*names: str) -> Callable[[ReceivedRequest], bool]:
    """For requests with one of these fields anywhere in a message of the model."""
    return lambda received: any(
        f'"{name}"' in json.dumps(own_replies(received.request)) for name in names
    )


def lacks_any(name: str) -> Callable[[ReceivedRequest], bool]:
    """For requests with a reply in which the field is missing or empty."""
    return lambda received: any(not reply.get(name) for reply in own_replies(received.request))


def _unsigned_reply(received: ReceivedRequest) -> bool:
    """For requests with a reply that has no signature in its first call."""
    return any(
        not reply["tool_calls"][0]
        .get("extra_content", {})
        .get("google", {})
        .get("thought_signature")
        for reply in own_replies(received.request)
        if reply.get("tool_calls")
    )


def adds(*deltas: Mapping[str, Any]) -> Quirk:
    """OpenAI: more deltas after the first one of each reply."""

    def edit(event: Event) -> Any:
        if not (event.get("choices") and event["choices"][0]["delta"].get("role")):
            return event
        choice = event["choices"][0]
        return [event, *({**event, "choices": [{**choice, "delta": delta}]} for delta in deltas)]

    return each_event(edit)


def adds_to_calls(value: Mapping[str, Any], *, late: bool = False) -> Quirk:
    """OpenAI: more fields of each call, in its first piece or in the later ones."""

    def edit(part: dict[str, Any]) -> None:
        if ("id" in part) != late:
            for name, item in value.items():
                part[name] = {**part.get(name, {}), **item}

    return each_call_part(edit)


def with_ids(name: str) -> Quirk:
    """Each call of each reply has this id."""
    return says(with_calls(lambda call: replace(call, id=name)))


_TEXT = {"type": "reasoning.text", "format": "anthropic-claude-v1", "index": 0}
_SEALED = {"type": "reasoning.encrypted", "data": SIGNATURE, "id": "tool_1", "index": 0}
_THINKING = {"type": "thinking", "thinking": "It wants a run.", "signature": SIGNATURE}
_SIGNED = {"google": {"thought_signature": SIGNATURE}}
_MISTRAL_ID = re.compile("[a-zA-Z0-9]{9}")


def _not_of_mistral(received: ReceivedRequest) -> bool:
    ids = [
        call["id"]
        for reply in own_replies(received.request)
        for call in reply.get("tool_calls") or ()
    ]
    return not all(map(_MISTRAL_ID.fullmatch, ids))


def _sends_thoughts_to(request: Request) -> bool:
    return _THOUGHTS in json.dumps(request.body) or SIGNATURE in json.dumps(request.body)


def _keeps_thoughts(ran: Ran) -> bool:
    return bool(ran.to_stand_in) and not any(map(_sends_thoughts_to, ran.to_stand_in))


def _is_to_another_model(request: Request) -> bool:
    return request.model == "another-model"


def _first_model_again(received: ReceivedRequest) -> bool:
    return second_call(received) and not _is_to_another_model(received.request)


def _fields_of_the_first_model(received: ReceivedRequest) -> bool:
    replies = own_replies(received.request)[:1]
    return _is_to_another_model(received.request) and "reasoning_content" in json.dumps(replies)


def _two_at_once(received: ReceivedRequest) -> Turn:
    if received.role != "executor" or received.has_result:
        return competent(received)
    return Reply(tool_calls=tuple(ToolCall("python", {"code": code}) for code in (CODE, _AGAIN)))


def _sign_first(part: dict[str, Any]) -> None:
    if "id" in part and part["index"] == 0:
        part["extra_content"] = _SIGNED


def _first_call_alone_is_unsigned(received: ReceivedRequest) -> bool:
    signed = [
        [call.get("extra_content") == _SIGNED for call in signatures.get("tool_calls") or ()]
        for signatures in own_replies(received.request)
    ]
    return any(signatures and (not signatures[0] or any(signatures[1:])) for signatures in signed)


def _two_ids(ran: Ran) -> bool:
    ids = [
        call["id"]
        for reply in own_replies(ran.requests[-2])
        for call in reply.get("tool_calls") or ()
    ]
    return len({*ids}) == len(ids) == 2


def _anthropic_thoughts(received: ReceivedRequest) -> bool:
    thought = {"type": "thinking", "thinking": _THOUGHTS, "signature": SIGNATURE}
    replies = [reply for reply in received.body["messages"] if reply["role"] == "assistant"]
    return any(reply["content"][0] != thought for reply in replies)


def _split_signature(event: Event) -> Any:
    if event.get("delta", {}).get("type") != "signature_delta":
        return event
    half = len(SIGNATURE) // 2
    return [
        {**event, "delta": {**event["delta"], "signature": piece}}
        for piece in (SIGNATURE[:half], SIGNATURE[half:])
    ]


def _gemini_signatures(received: ReceivedRequest) -> bool:
    parts = [part for content in received.body["contents"] for part in content["parts"]]
    return any("functionCall" in part and "thoughtSignature" not in part for part in parts)


_RETURNED = [
    openai(
        f"{name}: reasoning_content is needed back",
        thinks,
        refuses(lacks("reasoning_content", _THOUGHTS), 400, message),
        name=name,
    )
    for name, message in (
        ("compatible:some-model", KIMI_THOUGHTS),
        ("deepseek:deepseek-v4-flash", DEEPSEEK_THOUGHTS),
        ("openrouter:moonshotai/kimi-k2.6", KIMI_THOUGHTS),
        ("openai:gpt-4.1-mini", DEEPSEEK_THOUGHTS),
    )
]

ROWS: list[Row] = [
    *_RETURNED,
    openai(
        "an empty reasoning_content is needed back",
        adds({"reasoning_content": ""}),
        refuses(lacks("reasoning_content", ""), 400, DEEPSEEK_THOUGHTS),
    ),
    openai(
        "reasoning, not reasoning_content, is taken back",
        thinks,
        refuses(lacks("reasoning", _THOUGHTS), 400, "reasoning is missing"),
        refuses(has_field("reasoning_content"), 400, "property 'reasoning_content' is unsupported"),
        name="groq:openai/gpt-oss-20b",
    ),
    *(
        openai(
            f"{name}: reasoning_details come in pieces and are needed back",
            adds(
                {"reasoning_details": [{**_TEXT, "text": "It wants "}]},
                {"reasoning_details": [{**_TEXT, "text": "a run."}]},
                {"reasoning_details": [{**_TEXT, "signature": SIGNATURE}, _SEALED]},
            ),
            refuses(
                lacks(
                    "reasoning_details",
                    [{**_TEXT, "text": "It wants a run.", "signature": SIGNATURE}, _SEALED],
                ),
                400,
                "Invalid signature in thinking block",
            ),
            name=name,
        )
        for name in ("openrouter:anthropic/claude-sonnet-5", "compatible:some-model")
    ),
    *(
        openai(
            f"{name}: ids of items that are not stored are refused",
            adds({"reasoning_details": [{**_SEALED, "id": "rs_053a05e24b0d"}]}),
            refuses(
                lambda received: '"rs_053a05e24b0d"' in json.dumps(received.body),
                404,
                "Provider returned error",
                metadata={"raw": json.dumps({"error": {"message": _ITEM_GONE}})},
            ),
            name=name,
        )
        for name in ("openrouter:openai/gpt-5.4", "compatible:some-model")
    ),
    openai(
        "thinking blocks without an index come in pieces and are needed back",
        adds(
            {"thinking_blocks": [{"type": "thinking", "thinking": "It wants "}]},
            {"thinking_blocks": [{"type": "thinking", "thinking": "a run."}]},
            {"thinking_blocks": [{"type": "thinking", "thinking": "", "signature": SIGNATURE}]},
            {"thinking_blocks": [{"type": "thinking", "thinking": "And "}]},
            {"thinking_blocks": [{"type": "thinking", "thinking": "so on."}]},
        ),
        refuses(
            lacks("thinking_blocks", [_THINKING, {"type": "thinking", "thinking": "And so on."}]),
            400,
            "Expected `thinking`, but found `tool_use`",
        ),
    ),
    openai(
        "a call's signature is needed back",
        adds_to_calls({"extra_content": _SIGNED}),
        refuses(lacks_in_a_call("extra_content", value=_SIGNED), 400, GEMINI_SIGNATURE),
    ),
    openai(
        "a call's signature comes with its arguments, its id is repeated, and it is needed back",
        adds_to_calls({"extra_content": _SIGNED}, late=True),
        with_ids("call_0"),
        refuses(lacks_in_a_call("extra_content", value=_SIGNED), 400, GEMINI_SIGNATURE),
        model=_TWICE,
        programs=(CODE, _AGAIN),
        check=_two_ids,
    ),
    openai(
        "the first of two calls has a signature, which is needed back",
        each_call_part(_sign_first),
        refuses(_first_call_alone_is_unsigned, 400, GEMINI_SIGNATURE),
        model=_two_at_once,
        programs=(CODE, _AGAIN),
    ),
    openai(
        "a call that is no JSON has a signature, which is needed back",
        adds_to_calls({"extra_content": _SIGNED}),
        refuses(lacks_in_a_call("extra_content", value=_SIGNED), 400, GEMINI_SIGNATURE),
        model=calls(ToolCall("python", '{"code": '), ToolCall("python", {"code": CODE})),
    ),
    openai(
        "a signature in a call's function is needed back",
        adds_to_calls({"function": {"provider_specific_fields": _SIGNED}}),
        refuses(
            lacks_in_a_call("function", "provider_specific_fields", value=_SIGNED),
            400,
            GEMINI_SIGNATURE,
        ),
    ),
    openai(
        "a message's signature is needed back",
        adds({"extra_content": {"google": {"thought": True}}}, {"extra_content": _SIGNED}),
        refuses(
            lacks("extra_content", {"google": {"thought": True, **_SIGNED["google"]}}),
            400,
            "thought_signature is missing",
        ),
    ),
    openai(
        "a server without such fields gets none",
        refuses(
            has_field("reasoning_content", "reasoning", "extra_content", "fields", "refusal"),
            400,
            "Extra inputs are not permitted",
        ),
    ),
    anthropic(
        "signed thoughts are needed back, and the signature comes in pieces",
        thinks,
        each_event(_split_signature),
        refuses(_anthropic_thoughts, 400, "Expected `thinking`, but found `tool_use`"),
    ),
    gemini(
        "a call's signature is needed back",
        thinks,
        refuses(_gemini_signatures, 400, GEMINI_SIGNATURE),
    ),
    ollama(
        "thinking is needed back",
        thinks,
        refuses(lacks("thinking", _THOUGHTS), 400, "thinking is missing"),
    ),
    *on_all(
        "fields and thoughts are no part of a stand-in's request",
        thinks,
        plays(second_call, Refusal(503, "overloaded")),
        stand_in=[refuses(has_field("reasoning_content", "reasoning", "thinking"), 400, "unknown")],
        check=_keeps_thoughts,
    ),
    openai(
        "another model of the same provider gets no fields",
        thinks,
        plays(_first_model_again, Refusal(404, "the model was removed")),
        refuses(_fields_of_the_first_model, 400, "property 'reasoning_content' is unsupported"),
        stand_in=[],
        stand_in_name="compatible:another-model",
        check=lambda ran: any(map(_is_to_another_model, ran.requests)),
    ),
    *on_all(
        "another server's ids have one form alone",
        with_ids("functions.python:0"),
        plays(second_call, Refusal(503, "overloaded")),
        stand_in=[refuses(_not_of_mistral, 400, "Tool call id must be a-z, A-Z, 0-9, of length 9")],
    ),
    *on_all(
        "each reply repeats the id of its call",
        with_ids("call_0"),
        model=_TWICE,
        programs=(CODE, _AGAIN),
    ),
    *on_all("no call has an id", with_ids(""), model=_TWICE, programs=(CODE, _AGAIN)),
    *(
        row
        for name in ("multi_tool_use.parallel", "", "run python!", "python" * 20)
        for row in on_all(
            f"a call is named {name[:30]!r}",
            model=calls(ToolCall(name, {"a": 1}), ToolCall("python", {"code": CODE})),
        )
    ),
    *on_all(
        "a reply has a blank text before its call",
        says(
            lambda reply: replace(reply, text=reply.text or "\n\n"),
            when=role("executor", "planner"),
        ),
    ),
    *(
        row
        for message in (
            DEEPSEEK_THOUGHTS,
            f"{KIMI_THOUGHTS} at index 2",
            json.dumps({"raw": KIMI_THOUGHTS}),
        )
        for row in on_all(
            f"a stand-in needs reasoning_content in replies of others: {message[:40]}",
            plays(second_call, Refusal(503, "overloaded")),
            stand_in=[thinks, refuses(lacks_any("reasoning_content"), 400, message)],
            stand_in_name="deepseek:deepseek-v4-flash",
        )
    ),
    *(
        row(
            "a stand-in needs signatures in calls of others",
            plays(second_call, Refusal(503, "overloaded")),
            stand_in=[refuses(_unsigned_reply, 400, GEMINI_SIGNATURE)],
            stand_in_name="compatible:gemini-3-flash",
            **more,
        )
        for row, more in ((openai, {"name": "groq:openai/gpt-oss-20b"}), (anthropic, {}))
    ),
    *(
        row(
            "a stand-in with Gemini's API needs signatures in calls of others",
            plays(second_call, Refusal(503, "overloaded")),
            stand_in=[refuses(_gemini_signatures, 400, GEMINI_SIGNATURE)],
            stand_in_name="google_genai:gemini-flash-latest",
        )
        for row in (openai, anthropic)
    ),
    openai(
        "a reply without content is refused",
        refuses(
            lambda received: any(
                reply["content"] is None for reply in own_replies(received.request)
            ),
            422,
            "messages.2.assistant.content: Input should be a valid string",
        ),
    ),
    openai(
        "a server refuses the ids that it made itself",
        refuses(
            _not_of_mistral,
            400,
            "Tool call id was call_2_0 but must be a-z, A-Z, 0-9, with a length of 9.",
        ),
    ),
    openai(
        "a server refuses the ids that it made itself, and names the field",
        with_ids("chatcmpl-tool-" + "0123456789abcdef" * 3),
        refuses(
            _not_of_mistral,
            400,
            "Invalid 'messages[2].tool_calls[0].id': string too long. Maximum length is 40.",
        ),
    ),
]

"""More behaviours from public reports, of several kinds."""

from __future__ import annotations

import gzip
import itertools
import json
from dataclasses import replace
from typing import Any

from support.quirks.edits import each_choice, each_delta, with_calls
from support.quirks.quirk import (
    SECOND_CALL_ONCE,
    Event,
    Quirk,
    ReceivedRequest,
    Sent,
    When,
    always,
    answers,
    both,
    each_event,
    first,
    first_call,
    plays,
    refuses,
    role,
    says,
    second_call,
    sends,
)
from support.quirks.row import (
    Row,
    anthropic,
    does_not_succeed,
    fails,
    gemini,
    ollama,
    on_all,
    openai,
    succeeds_or_fails,
    waits,
)
from support.quirks.server import ANSWER, CODE, calls

from lab.provider import Cut, Hang, Refusal, Reply, ToolCall
from lab.provider.wire import DIALECTS

_HF_LOADING = '{"error": "Model some-model is currently loading", "estimated_time": 20.0}'


def _roles(received: ReceivedRequest) -> list[str]:
    """The roles of a request's messages; a tool's result counts as the model's turn."""
    return [message["role"] for message in received.body["messages"]]


def _does_not_alternate(received: ReceivedRequest) -> bool:
    """Whether two messages of the user, or two of the model, follow each other."""
    roles = [role for role in _roles(received) if role != "system"]
    pairs = itertools.pairwise(roles)
    return any(first == two != "tool" for first, two in pairs)


def _system_is_late(received: ReceivedRequest) -> bool:
    return "system" in _roles(received)[1:]


def _user_after_tool(received: ReceivedRequest) -> bool:
    roles = _roles(received)
    return ("tool", "user") in itertools.pairwise(roles)


def _content(of: str, is_bad: Any) -> When:
    """Whether the content of a message of this role is of this kind."""
    return lambda received: any(
        is_bad(message.get("content"))
        for message in received.body["messages"]
        if message["role"] == of
    )


def _no_name(received: ReceivedRequest) -> bool:
    return any(
        not message.get("name")
        for message in received.body["messages"]
        if message["role"] == "tool"
    )


def _as_parts(kind: str = "text") -> Quirk:
    """Mistral's form of a streamed content: a list of parts."""

    def edit(delta: dict[str, Any]) -> None:
        if isinstance(delta.get("content"), str) and delta["content"]:
            delta["content"] = [{"type": kind, kind: delta["content"]}]

    return each_delta(edit)


def _thinks_in_parts() -> Quirk:
    """Mistral's thoughts: a part of the content."""
    part = {"type": "thinking", "thinking": [{"type": "text", "text": "It is 42."}]}

    def edit(sent: Sent) -> Sent:
        head, *tail = sent.items
        assert isinstance(head, dict)
        more = json.loads(json.dumps(head))
        more["choices"][0]["delta"] = {"content": [part]}
        return replace(sent, items=[head, more, *tail])

    return sends(edit)


def _reordered(sent: Sent) -> Sent:
    """The finish reason comes before the last piece."""
    events = [item for item in sent.items if isinstance(item, dict)]
    position = next(
        i for i, e in enumerate(events) if e["choices"] and e["choices"][0]["finish_reason"]
    )
    items = [
        *events[: position - 1],
        events[position],
        events[position - 1],
        *events[position + 1 :],
        "[DONE]",
    ]
    return replace(sent, items=items)


def _zipped(received: ReceivedRequest, sent: Sent) -> Sent:
    framed = DIALECTS[received.request.wire].framed
    body = b"".join(
        framed(item if isinstance(item, str) else json.dumps(item))
        for item in sent.items
        if isinstance(item, str | dict)
    )
    headers = {**sent.headers, "content-encoding": "gzip"}
    return replace(sent, items=[gzip.compress(body)], headers=headers)


def _breaks_after_the_end(sent: Sent) -> Sent:
    return replace(sent, ends=False)


def _stream(*events: str) -> bytes:
    return "".join(f"{event}\n\n" for event in events).encode()


def _in_stream(title: str, body: bytes, end: Any = None, **more: Any) -> list[Row]:
    """An error within a stream: once, and always with its words in the reason."""
    kind = "text/event-stream"
    return [
        openai(f"{title}, once", answers(SECOND_CALL_ONCE, 200, body, kind), **more),
        openai(
            f"{title}, always",
            answers(second_call, 200, body, kind),
            end=end or does_not_succeed("flux capacitor"),
            **more,
        ),
    ]


def _bare(message: str, status: int = 400, when: When = always) -> Quirk:
    return answers(when, status, json.dumps({"error": message}))


def _progress(seconds: float) -> Quirk:
    """llama.cpp's events while it reads the prompt."""
    event: Event = {"choices": [], "prompt_progress": {"total": 100, "processed": 10}}
    beats: list[Any] = [event, 0.1] * round(seconds / 0.1)
    return sends(lambda sent: replace(sent, items=[*beats, *sent.items]), second_call)


def _named_tool(name: str, of: str) -> Quirk:
    return says(with_calls(lambda call: replace(call, name=name)), role(of))


def _twice(reply: Reply) -> Reply:
    return replace(reply, tool_calls=reply.tool_calls * 2)


def _gap(part: dict[str, Any]) -> None:
    part["index"] *= 2


def _listing(arguments: Any) -> Quirk:
    """A call of a tool without required arguments has these."""
    return says(
        with_calls(lambda call: replace(call, args=arguments) if call.name == "list_dir" else call)
    )


_LISTS = calls(ToolCall("list_dir", {}), ToolCall("python", {"code": CODE}))
_PORTKEY = refuses(
    lambda received: "x-portkey-provider" not in received.request.headers,
    400,
    "Either x-portkey-config or x-portkey-provider header is required",
)

ROWS: list[Row] = [
    openai(
        "a gateway's own header is set (Portkey)",
        _PORTKEY,
        options={"headers": {"compatible:*": {"x-portkey-provider": "openai"}}},
    ),
    openai(
        "a field of the body is set",
        refuses(lambda received: received.body.get("user") != "fettle", 400, "user is missing"),
        options={"bodies": {"compatible:*": {"user": "fettle"}}},
    ),
    openai(
        "roles have to alternate, after an empty reply",
        says(lambda _r: Reply(""), SECOND_CALL_ONCE),
        refuses(_does_not_alternate, 400, "Conversation roles must alternate user/assistant/"),
    ),
    openai(
        "roles have to alternate, after an unreadable plan",
        says(lambda _r: Reply("I plan."), both(role("planner"), first())),
        refuses(_does_not_alternate, 400, "Conversation roles must alternate user/assistant/"),
    ),
    openai(
        "no user may follow a tool, after an empty reply",
        says(lambda _r: Reply(""), SECOND_CALL_ONCE),
        refuses(_user_after_tool, 400, "Unexpected role 'user' after role 'tool'"),
    ),
    openai(
        "the system message has to be the first",
        refuses(_system_is_late, 400, "System message must be at the beginning."),
    ),
    openai(
        "a null content of a call is refused",
        refuses(
            _content("assistant", lambda content: content is None),
            422,
            "messages.2.content: Input should be a valid string",
        ),
    ),
    openai(
        "a missing content of a call is refused with FastAPI's details",
        answers(
            _content("assistant", lambda content: content is None),
            422,
            '{"detail": [{"type": "string_type", "loc": ["body", "messages", 2, "content"], "msg": '
            '"Input should be a valid string", "input": null}]}',
        ),
    ),
    openai(
        "an empty content of a call is refused",
        refuses(
            _content("assistant", lambda content: content == ""),
            400,
            "message at position 2 with role 'assistant' must not be empty",
        ),
    ),
    openai(
        "a list for a content is refused",
        refuses(
            _content("user", lambda content: isinstance(content, list)),
            400,
            "messages.1.content: Input should be a valid string",
        ),
    ),
    openai(
        "a tool's result without its name is refused (Gemini's endpoint)",
        refuses(
            _no_name,
            400,
            "GenerateContentRequest.contents[2].parts[0].function_response.name: Name "
            "cannot be empty.",
        ),
    ),
    openai(
        "a system message is refused: the reason is kept",
        refuses(lambda received: "system" in _roles(received), 400, "System role not supported"),
        end=succeeds_or_fails("System role not supported"),
    ),
    openai("content comes in parts (Mistral)", _as_parts()),
    openai("thoughts come in parts of the content (Mistral)", _thinks_in_parts(), _as_parts()),
    openai("the finish reason comes before the last piece", sends(_reordered)),
    openai(
        "null thoughts are in each delta",
        each_delta(
            lambda delta: delta.update(
                reasoning_content=None, reasoning=None, refusal=None, audio=None
            )
        ),
    ),
    openai(
        "a call of null is in each delta",
        each_delta(lambda delta: delta.update(function_call=None)),
    ),
    openai(
        "the finish reason is tool_calls, and there is no call, once",
        says(lambda _r: Reply(""), SECOND_CALL_ONCE),
        each_choice(
            lambda choice: (
                choice.update(finish_reason="tool_calls") if choice["finish_reason"] else None
            ),
            SECOND_CALL_ONCE,
        ),
    ),
    openai(
        "indices have gaps",
        Quirk(
            send=each_delta(
                lambda delta: [_gap(part) for part in delta.get("tool_calls") or ()]
            ).send
        ),
        says(
            lambda reply: replace(reply, tool_calls=(ToolCall("list_dir", {}), *reply.tool_calls)),
            first_call,
        ),
    ),
    openai(
        "ids are numbers",
        each_delta(
            lambda delta: [
                part.update(id=7) for part in delta.get("tool_calls") or () if "id" in part
            ]
        ),
    ),
    *[
        openai(f"arguments of a tool without any are {text!r}", _listing(text), model=_LISTS)
        for text in ("", "null", "{}", "  ")
    ],
    *on_all("the verdict is given twice in one reply", says(_twice, role("critic"))),
    *on_all("the plan is given twice in one reply", says(_twice, role("planner"))),
    *on_all("the plan's tool has the prefix functions.", _named_tool("functions.Plan", "planner")),
    *on_all(
        "the verdict's tool is in lower case",
        _named_tool("verdict", "critic"),
        end=succeeds_or_fails("critic"),
    ),
    *on_all("a body is packed with gzip", Quirk(send=_zipped)),
    *on_all(
        "the connection breaks after the end of each reply",
        sends(_breaks_after_the_end),
        most_requests=4,
    ),
    *_in_stream(
        "an event named error",
        _stream('event: error\ndata: {"error": {"message": "The flux capacitor fails"}}'),
    ),
    *_in_stream(
        "an error as a text within a stream", _stream('data: {"error": "The flux capacitor fails"}')
    ),
    *_in_stream(
        "an error as a flat object within a stream",
        _stream('data: {"object": "error", "message": "The flux capacitor fails", "code": 500}'),
    ),
    *_in_stream(
        "an error in `detail` within a stream",
        _stream('data: {"detail": "The flux capacitor fails"}'),
    ),
    *_in_stream(
        "SGLang's error within a stream",
        _stream(
            'data: {"error": {"object": "error", "message": "The flux capacitor fails", "type": '
            '"InternalServerError", "param": null, "code": 500}}',
            "data: [DONE]",
        ),
    ),
    *_in_stream(
        "an error of the request within a stream",
        _stream('data: {"error": {"message": "The flux capacitor fails", "code": 400}}'),
    )[1:],
    openai(
        "no model is loaded (LM Studio)",
        _bare(
            "No models loaded. Please load a model in the developer page or use the 'lms load' "
            "command."
        ),
        end=does_not_succeed("No models loaded"),
    ),
    openai(
        "the model has crashed (LM Studio)",
        _bare("The model has crashed without additional information. (Exit code: 6)"),
        end=does_not_succeed("crashed"),
    ),
    openai(
        "the model is unloaded (LM Studio), once",
        _bare("Model unloaded.", 400, first()),
        end=succeeds_or_fails("Model unloaded"),
    ),
    openai(
        "the model is loaded on demand (Hugging Face), once",
        answers(lambda received: received.count == 1, 503, _HF_LOADING),
        attempts=2,
    ),
    openai(
        "the model is gone (410): the stand-in answers",
        _bare("The requested model is deprecated and no longer supported", 410),
        stand_in=(),
    ),
    openai(
        "the monthly credits are used up (402): the stand-in answers",
        _bare("You have exceeded your monthly included credits", 402),
        stand_in=(),
    ),
    openai(
        "a firewall waits too long (524), once",
        answers(first(), 524, "<html>524: A timeout occurred</html>", "text/html"),
    ),
    openai(
        "a tunnel is down (530)",
        answers(always, 530, "error code: 1033", "text/plain"),
        end=waits("1033"),
    ),
    openai("a proxy wants a password (407)", answers(always, 407, b""), end=fails("407")),
    openai("a request is too early (425), once", refuses(first(), 425, "Too Early")),
    openai(
        "a wait of a tenth of a second is asked for, once",
        answers(first(), 429, '{"error": {"message": "slow down"}}', retry_after="0.1"),
    ),
    ollama(
        "the runner has ended",
        refuses(always, 500, "llama runner process has terminated: exit status 2"),
        end=waits("runner process has terminated"),
    ),
    ollama(
        "there is not enough memory",
        refuses(
            always, 500, "model requires more system memory (8.0 GiB) than is available (5.5 GiB)"
        ),
        end=does_not_succeed("more system memory"),
    ),
    ollama(
        "the queue is full (503), once",
        refuses(first(), 503, "server busy, please try again. maximum pending requests exceeded"),
    ),
    ollama(
        "a model does not think",
        refuses(
            lambda received: "think" in received.body, 400, "qwen3:8b does not support thinking"
        ),
    ),
    anthropic(
        "the model is unknown",
        refuses(always, 404, "model: claude-haiku-4-5"),
        end=fails("no such model"),
    ),
    anthropic(
        "no credit is left, within the stream: the stand-in answers",
        answers(
            second_call,
            200,
            _stream(
                'event: error\ndata: {"type": "error", "error": {"type": "invalid_request_error", '
                '"message": "Your credit balance is too low to access the Anthropic API."}}'
            ),
            "text/event-stream",
        ),
        stand_in=(),
    ),
    gemini(
        "a candidate has no content, once",
        each_event(
            lambda event: {**event, "candidates": [{"finishReason": "STOP", "index": 0}]},
            SECOND_CALL_ONCE,
        ),
    ),
    gemini(
        "the prompt is blocked",
        answers(
            second_call,
            200,
            _stream('data: {"promptFeedback": {"blockReason": "OTHER"}}'),
            "text/event-stream",
        ),
        end=fails("blocked"),
    ),
    gemini(
        "each call is broken: the stand-in answers",
        says(
            lambda reply: replace(
                reply, tool_calls=tuple(replace(call, args="{") for call in reply.tool_calls)
            ),
            first_call,
        ),
        stand_in=(),
    ),
    gemini(
        "the quota of the free tier is zero",
        refuses(
            always,
            429,
            "You exceeded your current quota. Quota exceeded for metric: "
            "generate_content_free_tier_requests, limit: 0",
        ),
        end=does_not_succeed("limit: 0"),
    ),
    openai(
        "progress of the prompt is told (llama.cpp)",
        _progress(0.8),
        options={"connect_seconds": 0.1, "first_token_seconds": 0.3},
    ),
    *on_all(
        "the first server hangs: the stand-in answers",
        plays(second_call, Hang(10)),
        stand_in=(),
        options={"connect_seconds": 0.1, "first_token_seconds": 0.2, "max_retries": 0},
    ),
    *on_all(
        "the first server always breaks off: the stand-in answers",
        plays(second_call, Cut(Reply(ANSWER))),
        stand_in=(),
    ),
    *on_all(
        "a job goes on at another worker",
        plays(both(second_call, first(5)), Refusal(503)),
        attempts=2,
    ),
    *on_all(
        "the critic's server is away until the last attempt: the reason is named",
        refuses(role("critic"), 503, "The flux capacitor fails"),
        attempts=2,
        end=fails("could not be reached", "flux capacitor"),
        most_requests=16,
    ),
]

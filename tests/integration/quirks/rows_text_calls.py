"""Tool calls and thoughts in the text of a reply, and names with a prefix or a suffix."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

from support.quirks.edits import arguments_json, as_text, with_calls
from support.quirks.quirk import plays, says, second_call
from support.quirks.row import Ran, Row, fails, on_all, openai
from support.quirks.server import ANSWER

from lab.provider import Refusal, Reply, ToolCall, Turn


def _json(call: ToolCall) -> str:
    return f'{{"name": "{call.name}", "arguments": {arguments_json(call)}}}'


def _in_tags(call: ToolCall) -> str:
    arguments = call.args if isinstance(call.args, dict) else {}
    values = {
        name: value if isinstance(value, str) else json.dumps(value)
        for name, value in arguments.items()
    }
    lines = [f"<parameter={name}>\n{value}\n</parameter>\n" for name, value in values.items()]
    return f"<function={call.name}>\n{''.join(lines)}</function>"


def _harmony(call: ToolCall) -> str:
    return (
        "<|channel|>analysis<|message|>I call a tool.<|end|><|start|>assistant<|channel|>"
        f"commentary to=functions.{call.name} <|constrain|>json<|message|>"
        f"{arguments_json(call)}<|call|>"
    )


_FORMS: dict[str, Callable[[ToolCall], str]] = {
    "<function=": _in_tags,
    "<function= in <tool_call>": lambda call: f"<tool_call>\n{_in_tags(call)}\n</tool_call>",
    "an unclosed <tool_call>": lambda call: f"<tool_call>\n{_json(call)}",
    "[TOOL_CALLS] with a list": lambda call: f"[TOOL_CALLS] [{_json(call)}]",
    "[TOOL_CALLS] with [ARGS]": lambda call: f"[TOOL_CALLS]{call.name}[ARGS]{arguments_json(call)}",
    "<|python_tag|>": lambda call: f"<|python_tag|>{_json(call)}",
    "DeepSeek's tokens": lambda call: (
        "<\uff5ctool\u2581calls\u2581begin\uff5c><\uff5ctool\u2581call\u2581begin\uff5c>function"
        f"<\uff5ctool\u2581sep\uff5c>{call.name}\n```json\n{arguments_json(call)}\n```"
        "<\uff5ctool\u2581call\u2581end\uff5c><\uff5ctool\u2581calls\u2581end\uff5c>"
    ),
    "Kimi's tokens": lambda call: (
        f"<|tool_calls_section_begin|><|tool_call_begin|>functions.{call.name}:0"
        f"<|tool_call_argument_begin|>{arguments_json(call)}<|tool_call_end|>"
        "<|tool_calls_section_end|>"
    ),
    "harmony": _harmony,
    "bare JSON": _json,
    "<tool_call> after thoughts": lambda call: (
        f"<think>\nI call a tool.\n</think>\n\n<tool_call>\n{_json(call)}\n</tool_call>"
    ),
}


def _hermes(call: ToolCall) -> str:
    return f"<tool_call>\n{_json(call)}\n</tool_call>"


def _in_a_fence(call: ToolCall) -> str:
    return f"```json\n{_json(call)}\n```"


def _before_text(call: ToolCall) -> str:
    return f"{_hermes(call)}\nThe program prints 42."


def _broken(call: ToolCall) -> str:
    return f"<tool_call>{_json(call)[:-4]}"


def _with_name(edit: str) -> Callable[[Reply], Turn]:
    return with_calls(lambda call: replace(call, name=edit.format(call.name)))


def _thinks(before: str) -> Callable[[Reply], Turn]:
    """Thoughts before the text of a reply."""
    return lambda reply: replace(reply, text=f"{before}{reply.text}")


def _as_json(reply: Reply) -> Turn:
    """The first call of a structured reply as its plain JSON, after thoughts."""
    if not (reply.tool_calls and reply.tool_calls[0].name in ("Plan", "Verdict")):
        return reply
    text = f"<think>I judge.</think>{arguments_json(reply.tool_calls[0])}"
    return replace(reply, text=text, tool_calls=())


def _shows_no_thoughts(ran: Ran) -> bool:
    return "Hm, so" not in "".join(str(request.body) for request in ran.requests[-1:])


_SHOWN = f"{ANSWER}\n\nA call looks like this:\n```\n<tool_call>\n{{}}\n</tool_call>\n```"
_AS_TEXT = "tool calls come as text"

ROWS: list[Row] = [
    *on_all("calls come in <tool_call>", says(as_text(_hermes))),
    *(
        openai(f"calls come as text: {form}", says(as_text(write)))
        for form, write in _FORMS.items()
    ),
    *on_all(
        "calls come in a <tool_call> that is not JSON",
        says(as_text(_broken)),
        end=fails(_AS_TEXT, "<tool_call>", "--jinja"),
        plan="default",
    ),
    openai(
        "calls come in a code fence",
        says(as_text(_in_a_fence)),
        end=fails(_AS_TEXT, "--jinja"),
        plan="default",
    ),
    openai(
        "a text follows each call in <tool_call>",
        says(as_text(_before_text)),
        end=fails(_AS_TEXT, "<tool_call>"),
        plan="default",
    ),
    *on_all(
        "an answer shows a call in a code fence",
        says(lambda reply: replace(reply, text=_SHOWN), second_call),
        answer=_SHOWN,
    ),
    *(
        row
        for title, name in {
            "the prefix functions.": "functions.{}",
            "the suffix <|channel|>commentary": "{}<|channel|>commentary",
            "the prefix default_api.": "default_api.{}",
        }.items()
        for row in on_all(f"names have {title}", says(_with_name(name)))
    ),
    *on_all(
        "<think> before each reply",
        says(_thinks("<think>\nHm, so I go on.\n</think>\n\n")),
        check=_shows_no_thoughts,
    ),
    *on_all(
        "thoughts before a lone </think>",
        says(_thinks("Hm, so I go on.\n</think>\n\n")),
        check=_shows_no_thoughts,
    ),
    *on_all("thoughts before a plan and a verdict in JSON", says(_as_json)),
    openai(
        "a reply is nothing but <think>",
        says(lambda _: Reply("<think>Hm, so I go on."), second_call),
        end=fails("has thoughts, and no answer"),
    ),
    openai(
        "a harmony answer",
        says(
            lambda reply: replace(
                reply,
                text="<|channel|>analysis<|message|>Hm, so it is 42.<|end|><|start|>assistant"
                f"<|channel|>final<|message|>{reply.text}<|return|>",
            ),
            second_call,
        ),
        check=_shows_no_thoughts,
    ),
    openai(
        "Groq withholds a call that can be read",
        plays(
            lambda received: received.role == "executor" and not received.has_result,
            Refusal(
                400,
                "Failed to call a function. See 'failed_generation' for more details.",
                fields={
                    "code": "tool_use_failed",
                    "failed_generation": '<function=python{"code": "print(6 * 7)"}</function>',
                },
            ),
        ),
        name="groq:llama-3.3-70b-versatile",
    ),
]

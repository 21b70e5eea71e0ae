"""Tool calls, thoughts and control tokens that arrive as text."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

from support.quirks.edits import arguments_json, as_text
from support.quirks.quirk import Quirk, first_call, role, says, second_call
from support.quirks.row import (
    Row,
    anthropic,
    fails,
    gemini,
    ollama,
    on_all,
    openai,
    succeeds_or_fails,
)
from support.quirks.server import ANSWER, CODE

from lab.provider import Reply, ToolCall

Write = Callable[[ToolCall], str]


def _json(call: ToolCall, key: str = "arguments") -> str:
    return json.dumps({"name": call.name, key: call.args})


def _hermes(call: ToolCall) -> str:
    return f"<tool_call>\n{_json(call)}\n</tool_call>"


def _qwen_coder(call: ToolCall) -> str:
    assert not isinstance(call.args, str)
    parameters = "".join(
        f"<parameter={name}>\n"
        f"{value if isinstance(value, str) else json.dumps(value)}\n</parameter>\n"
        for name, value in call.args.items()
    )
    return f"<tool_call>\n<function={call.name}>\n{parameters}</function>\n</tool_call>"


def _glm(call: ToolCall) -> str:
    assert not isinstance(call.args, str)
    pairs = "".join(
        f"<arg_key>{name}</arg_key>\n"
        f"<arg_value>{value if isinstance(value, str) else json.dumps(value)}</arg_value>\n"
        for name, value in call.args.items()
    )
    return f"<tool_call>{call.name}\n{pairs}</tool_call>"


def _claude(call: ToolCall) -> str:
    assert not isinstance(call.args, str)
    parameters = "".join(
        f'<parameter name="{name}">{value}</parameter>\n' for name, value in call.args.items()
    )
    return (
        f'<function_calls>\n<invoke name="{call.name}">\n{parameters}</invoke>\n</function_calls>'
    )


def _wide(text: str) -> str:
    """With the bars of DeepSeek's tokens."""
    return text.replace("<|", "<\uff5c").replace("|>", "\uff5c>")


def _pythonic(call: ToolCall) -> str:
    assert not isinstance(call.args, str)
    arguments = ", ".join(f"{name}={value!r}" for name, value in call.args.items())
    return f"[{call.name}({arguments})]"


_NAMED: dict[str, Write] = {
    "<tool_call> (Hermes, Qwen)": _hermes,
    "<tool_call> on one line": lambda call: f"<tool_call>{_json(call)}</tool_call>",
    "[TOOL_CALLS] with a list (Mistral)": lambda call: f"[TOOL_CALLS][{_json(call)}]",
    "[TOOL_CALLS] with a name (Mistral)": (
        lambda call: f"[TOOL_CALLS]{call.name}[ARGS]{arguments_json(call)}"
    ),
    "[TOOL_CALLS] with a name and JSON (Mistral)": (
        lambda call: f"[TOOL_CALLS]{call.name}{arguments_json(call)}"
    ),
    "<function= with JSON (Llama)": (
        lambda call: f"<function={call.name}>{arguments_json(call)}</function>"
    ),
    "<function= with parameters (Qwen coder)": _qwen_coder,
    "harmony": (
        lambda call: (
            f"<|channel|>commentary to=functions.{call.name} <|constrain|>json<|message|>"
            f"{arguments_json(call)}<|call|>"
        )
    ),
    "harmony with thoughts": (
        lambda call: (
            "<|channel|>analysis<|message|>I run it.<|end|><|start|>assistant"
            f"<|channel|>commentary to=functions.{call.name} <|constrain|>json<|message|>"
            f"{arguments_json(call)}<|call|>"
        )
    ),
}
"""The forms that have to be read."""
_OTHERS: dict[str, Write] = {
    "harmony without its tokens": (
        lambda call: f"commentary to=functions.{call.name} json{arguments_json(call)}"
    ),
    "<tool_call> without an end": lambda call: f"<tool_call>\n{_json(call)}",
    "<tool_call> with keys and values (GLM)": _glm,
    "<|python_tag|> (Llama)": lambda call: f"<|python_tag|>{_json(call, 'parameters')}",
    "<|tool_call|> (Phi, Granite)": lambda call: f"<|tool_call|>[{_json(call)}]",
    "functools (Phi)": lambda call: f"functools[{_json(call)}]",
    "DeepSeek's tokens": lambda call: _wide(
        "<|tool▁calls▁begin|><|tool▁call▁begin|>function<|tool▁sep|>"
        f"{call.name}\n```json\n{arguments_json(call)}\n```<|tool▁call▁end|><|tool▁calls▁end|>"
    ),
    "Kimi's tokens": (
        lambda call: (
            "<|tool_calls_section_begin|><|tool_call_begin|>functions."
            f"{call.name}:0<|tool_call_argument_begin|>{arguments_json(call)}<|tool_call_end|>"
            "<|tool_calls_section_end|>"
        )
    ),
    "<invoke> (Claude, MiniMax)": _claude,
    "a list of Python calls (Llama 4)": _pythonic,
    "bare JSON with parameters (Llama 3)": lambda call: _json(call, "parameters"),
    "bare JSON with arguments": _json,
    "JSON in a fence": lambda call: f"```json\n{_json(call)}\n```",
    "a fence of its own": lambda call: f"```tool_call\n{_json(call)}\n```",
}
"""Forms that may be read, or named in the reason."""

_STRUCTURED = role("planner", "critic")
_READ_OR_NAMED = succeeds_or_fails("as text")


def _answers(text: str) -> Quirk:
    return says(lambda _reply: Reply(text), second_call)


def _as_json(before: str = "", after: str = "") -> Quirk:
    """Plan and verdict as JSON in the text, with something around it."""
    return says(as_text(lambda call: before + arguments_json(call) + after), _STRUCTURED)


_TWO = [ToolCall("python", {"code": code}) for code in (CODE, "print(6 + 36)")]

ROWS: list[Row] = [
    *[
        row
        for form, write in _NAMED.items()
        for row in (
            openai(f"a call as text: {form}", says(as_text(write), first_call)),
            openai(
                f"a call as text after a sentence: {form}",
                says(
                    lambda reply, write=write: as_text(write)(
                        replace(reply, text="I run a program.\n\n")
                    ),
                    first_call,
                ),
            ),
            openai(f"plan, call and verdict as text: {form}", says(as_text(write))),
        )
    ],
    *[
        openai(f"a call as text: {form}", says(as_text(write), first_call), end=_READ_OR_NAMED)
        for form, write in _OTHERS.items()
    ],
    *[
        row(f"a call as text: {form}", says(as_text(write), first_call))
        for row in (anthropic, gemini, ollama)
        for form, write in list(_NAMED.items())[:1]
    ],
    ollama("plan, call and verdict as text: <tool_call>", says(as_text(_hermes))),
    openai(
        "two calls as text",
        says(lambda _reply: Reply("".join(map(_hermes, _TWO))), first_call),
        programs=(CODE, "print(6 + 36)"),
    ),
    openai(
        "a call as text after thoughts in the text",
        says(
            lambda reply: Reply(
                "<think>I run it.</think>\n" + "".join(map(_hermes, reply.tool_calls))
            ),
            first_call,
        ),
    ),
    openai(
        "a call within thoughts is only thought of",
        says(
            lambda reply: replace(
                reply,
                text='<think>I could say <tool_call>{"name": "python", "arguments": '
                '{"code": "print(0)"}}</tool_call></think>',
            ),
            first_call,
        ),
    ),
    openai(
        "a call of an unknown tool as text is not run",
        says(
            lambda _reply: Reply('<tool_call>{"name": "rm", "arguments": {}}</tool_call>'),
            first_call,
        ),
        end=succeeds_or_fails(""),
        programs=(),
    ),
    openai(
        "an answer that explains the form of a call is an answer",
        _answers("It prints 42. Servers write calls as `<tool_call>` and `</tool_call>`."),
        answer="It prints 42. Servers write calls as `<tool_call>` and `</tool_call>`.",
    ),
    openai(
        "an answer with JSON is an answer",
        _answers('It prints 42:\n\n```json\n{"name": "product", "value": 42}\n```'),
        answer='It prints 42:\n\n```json\n{"name": "product", "value": 42}\n```',
    ),
    openai(
        "an answer that is JSON is an answer",
        _answers('{"product": 42}'),
        answer='{"product": 42}',
    ),
    *on_all("<think> before the answer", _answers(f"<think>\nIt is 42.\n</think>\n\n{ANSWER}")),
    openai("<thinking> before the answer", _answers(f"<thinking>It is 42.</thinking>\n{ANSWER}")),
    openai("an end of thoughts without a beginning", _answers(f"It is 42.\n</think>\n\n{ANSWER}")),
    openai("empty thoughts before the answer", _answers(f"<think>\n\n</think>\n\n{ANSWER}")),
    openai(
        "the answer is in harmony's final channel",
        _answers(
            "<|channel|>analysis<|message|>It is 42.<|end|><|start|>assistant<|channel|>final"
            f"<|message|>{ANSWER}<|return|>"
        ),
    ),
    openai("a final channel alone", _answers(f"<|channel|>final<|message|>{ANSWER}")),
    openai("a control token ends the answer", _answers(f"{ANSWER}<|im_end|>")),
    *on_all(
        "<think> before the JSON of plan and verdict", _as_json("<think>Easy {it} is.</think>\n")
    ),
    openai(
        "an end of thoughts before the JSON of plan and verdict", _as_json("Easy.\n</think>\n\n")
    ),
    openai("thoughts before JSON in a fence", _as_json("<think>x</think>\n```json\n", "\n```")),
    openai(
        "a sentence before the JSON of plan and verdict: it is read, or the reason is named",
        _as_json("Here it is:\n\n"),
        end=succeeds_or_fails("the critic's reply could not be read"),
    ),
    openai(
        "thoughts and an answer in harmony without its tokens",
        _answers(f"analysisIt is 42, I think.assistantfinal{ANSWER}"),
    ),
    openai("a sentence around JSON in a fence", _as_json("Here it is:\n```json\n", "\n```\nDone.")),
    openai("a fence without a language", _as_json("```\n", "\n```")),
    openai("a control token after the JSON", _as_json("", "<|im_end|>")),
    openai(
        "the JSON of plan and verdict in harmony's final channel",
        _as_json(
            "<|channel|>analysis<|message|>x<|end|><|start|>assistant<|channel|>final<|message|>"
        ),
    ),
    openai(
        "thoughts without an end use up the reply, once",
        says(lambda reply: replace(reply, text="<think>I wonder", tool_calls=()), first_call),
        end=succeeds_or_fails(""),
    ),
    openai(
        "calls always come as text of an unreadable form: the reason is named",
        says(as_text(lambda call: f"<tool_call>\n{_json(call)[:40]}"), first_call),
        end=fails("as text"),
    ),
]

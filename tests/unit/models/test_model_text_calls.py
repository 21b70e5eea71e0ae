"""Tool calls and thoughts in the text of a reply, in the forms of real models."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agents.models.replies.reading import without_thoughts
from agents.models.replies.text_calls import BARE, offered_name, read_text_calls, text_call_form

OFFERED = ("shell", "write_file", "list_dir", "Plan")
LS = [("shell", {"command": "ls"})]
TWO = [("shell", {"command": "ls"}), ("list_dir", {"path": "src"})]
CALL = '{"name": "shell", "arguments": {"command": "ls"}}'
OTHER = '{"name": "list_dir", "arguments": {"path": "src"}}'


def of_deepseek(text: str) -> str:
    """The text with DeepSeek's characters in its tokens."""
    return text.replace("_", "\u2581").replace("!", "\uff5c").replace("list\u2581", "list_")


READ: dict[str, tuple[str, list[tuple[str, dict[str, Any]]], str]] = {
    "Hermes, single quotes": (
        "<tool_call>{'name': 'shell', 'arguments': {'command': 'ls'}}</tool_call>",
        LS,
        "",
    ),
    "Hermes, only closed": (f"{CALL}\n</tool_call>", LS, ""),
    "Hermes, in capitals": (f"<TOOL_CALL>{CALL}</TOOL_CALL>", LS, ""),
    "Hermes, a fence within": (f"<tool_call>\n```json\n{CALL}\n```\n</tool_call>", LS, ""),
    "Nemotron": (f"<TOOLCALL>[{CALL}]</TOOLCALL>", LS, ""),
    "InternLM": (f"I look.<|action_start|><|plugin|>{CALL}<|action_end|>", LS, "I look."),
    "LM Studio": (f"[TOOL_REQUEST]{CALL}[END_TOOL_REQUEST]", LS, ""),
    "OpenAI's message": (f'{{"tool_calls": [{{"function": {CALL}}}]}}', LS, ""),
    "harmony, after a text": (
        (
            "I look.<|start|>assistant<|channel|>commentary to=functions.shell "
            '<|constrain|>json<|message|>{"command": "ls"}<|call|>'
        ),
        LS,
        "I look.",
    ),
    "Qwen3-coder, its own tags in a value": (
        (
            "<function=write_file>\n<parameter=path>\na\n</parameter>\n<parameter=content>\n"
            "print('<parameter=x>', '</parameter>', '</function>')\n</parameter>\n</function>"
        ),
        [
            (
                "write_file",
                {
                    "path": "a",
                    "content": "print('<parameter=x>', '</parameter>', '</function>')",
                },
            )
        ],
        "",
    ),
    "Hermes": (f"<tool_call>\n{CALL}\n</tool_call>", LS, ""),
    "Hermes, after a text": (f"I look.\n\n<tool_call>\n{CALL}\n</tool_call>", LS, "I look."),
    "Hermes, two": (f"<tool_call>{CALL}</tool_call>\n<tool_call>{OTHER}</tool_call>", TWO, ""),
    "Hermes, two in one": (f"<tool_call>\n{CALL}\n{OTHER}\n</tool_call>", TWO, ""),
    "Hermes, a list": (f"<tool_call>[{CALL}, {OTHER}]</tool_call>", TWO, ""),
    "Hermes, unclosed": (f"<tool_call>\n{CALL}", LS, ""),
    "Hermes, parameters": (f"<tool_call>{CALL.replace('arguments', 'parameters')}", LS, ""),
    "Hermes, encoded arguments": (
        "<tool_call>" + json.dumps({"name": "shell", "arguments": '{"command": "ls"}'}),
        LS,
        "",
    ),
    "Hermes, lines in a text": (
        '<tool_call>{"name": "shell", "arguments": {"command": "ls\nls"}}</tool_call>',
        [("shell", {"command": "ls\nls"})],
        "",
    ),
    "Hermes, code in a text": (
        (
            '<tool_call>{"name": "write_file", "arguments": {"path": "a.md", "content": '
            '"```\\n<tool_call>\\n```"}}</tool_call>'
        ),
        [("write_file", {"path": "a.md", "content": "```\n<tool_call>\n```"})],
        "",
    ),
    "Qwen2.5-coder": (f"<tools>\n{CALL}\n</tools>", LS, ""),
    "Qwen3-coder": (
        (
            "<tool_call>\n<function=shell>\n<parameter=command>\nls\n</parameter>\n</function>\n"
            "</tool_call>"
        ),
        LS,
        "",
    ),
    "Qwen3-coder, several arguments": (
        (
            "<function=write_file>\n<parameter=path>\na.py\n</parameter>\n<parameter=content>\n"
            "x = 1\n\nif x < 2:\n    pass\n\n</parameter>\n</function>"
        ),
        [("write_file", {"path": "a.py", "content": "x = 1\n\nif x < 2:\n    pass\n"})],
        "",
    ),
    "Qwen3-coder, unclosed": ("<function=shell>\n<parameter=command>\nls", LS, ""),
    "Qwen3-coder, no arguments": ("<function=list_dir>\n</function>", [("list_dir", {})], ""),
    "Llama 3.1": ('<function=shell>{"command": "ls"}</function>', LS, ""),
    "Llama on Groq": ('<function=shell{"command": "ls"}</function>', LS, ""),
    "Llama": ('<|python_tag|>{"name": "shell", "parameters": {"command": "ls"}}<|eom_id|>', LS, ""),
    "Llama, two": (f"<|python_tag|>{CALL}; {OTHER}", TWO, ""),
    "Mistral, a list": (f"[TOOL_CALLS] [{CALL}, {OTHER}]", TWO, ""),
    "Mistral, after a text": (f"I look.[TOOL_CALLS][{CALL}]", LS, "I look."),
    "Mistral, named": (
        '[TOOL_CALLS]shell[ARGS]{"command": "ls"}[TOOL_CALLS]list_dir[ARGS]{"path": "src"}',
        TWO,
        "",
    ),
    "Mistral, with an id": ('[TOOL_CALLS]shell[CALL_ID]a1b2c3d4e[ARGS]{"command": "ls"}', LS, ""),
    "Mistral, without a mark": ('[TOOL_CALLS]shell{"command": "ls"}', LS, ""),
    "DeepSeek R1": (
        of_deepseek(
            "<!tool_calls_begin!><!tool_call_begin!>function<!tool_sep!>shell\n```json\n"
            '{"command": "ls"}\n```<!tool_call_end!><!tool_calls_end!><!end_of_sentence!>'
        ),
        LS,
        "",
    ),
    "DeepSeek V3.1": (
        of_deepseek(
            '<!tool_calls_begin!><!tool_call_begin!>shell<!tool_sep!>{"command": "ls"}'
            '<!tool_call_end!><!tool_call_begin!>list_dir<!tool_sep!>{"path": "src"}'
            "<!tool_call_end!><!tool_calls_end!>"
        ),
        TWO,
        "",
    ),
    "DeepSeek V3.2": (
        of_deepseek(
            '<!DSML!function-calls>\n<!DSML!invoke name="shell">\n'
            '<!DSML!parameter name="command" string="true">ls</!DSML!parameter>\n'
            "</!DSML!invoke>\n</!DSML!function-calls>"
        ).replace("-", "_"),
        LS,
        "",
    ),
    "Kimi": (
        (
            "<|tool_calls_section_begin|><|tool_call_begin|>functions.shell:0"
            '<|tool_call_argument_begin|>{"command": "ls"}<|tool_call_end|>'
            "<|tool_calls_section_end|>"
        ),
        LS,
        "",
    ),
    "MiniMax": (
        (
            '<minimax:tool_call>\n<invoke name="shell">\n<parameter name="command">ls</parameter>\n'
            "</invoke>\n</minimax:tool_call>"
        ),
        LS,
        "",
    ),
    "GLM": (
        "<tool_call>shell\n<arg_key>command</arg_key>\n<arg_value>ls</arg_value>\n</tool_call>",
        LS,
        "",
    ),
    "Granite": (f"<|tool_call|>[{CALL}]", LS, ""),
    "Phi-4": (f"<|tool_call|>[{CALL}]<|/tool_call|>", LS, ""),
    "Command": (
        (
            '<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "shell", '
            '"parameters": {"command": "ls"}}]<|END_ACTION|>'
        ),
        LS,
        "",
    ),
    "Phi-3": (f"functools[{CALL}]", LS, ""),
    "bare": (CALL, LS, ""),
    "bare, a list": (f"[{CALL}, {OTHER}]", TWO, ""),
    "bare, as in the API": (
        (
            '{"type": "function", "function": {"name": "shell", "arguments": "{\\"command\\": '
            '\\"ls\\"}"}}'
        ),
        LS,
        "",
    ),
    "harmony": (
        (
            "<|channel|>analysis<|message|>I look.<|end|><|start|>assistant<|channel|>commentary "
            'to=functions.shell <|constrain|>json<|message|>{"command": "ls"}<|call|>'
        ),
        LS,
        "",
    ),
    "harmony, an answer": (
        (
            "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>"
            "It is done.<|return|>"
        ),
        [],
        "It is done.",
    ),
    "harmony, without its tokens": ('commentary to=functions.shell json{"command": "ls"}', LS, ""),
    "harmony, thoughts and a call without its tokens": (
        'analysisI look.assistantcommentary to=functions.shell json{"command": "ls"}',
        LS,
        "",
    ),
    "harmony, an answer without its tokens": (
        "analysisIt is done, I think.assistantfinalIt is done.",
        [],
        "It is done.",
    ),
    "Llama 4": ("[shell(command=\"ls\"), list_dir(path='src')]\n", TWO, ""),
    "Llama 4, no arguments": ("[list_dir()]", [("list_dir", {})], ""),
    "harmony, the tool first": (
        (
            "<|start|>assistant to=functions.shell<|channel|>commentary json<|message|>"
            '{"command": "ls"}<|call|>'
        ),
        LS,
        "",
    ),
}


@pytest.mark.parametrize("name", READ)
def test_a_clear_call_is_read(name: str) -> None:
    text, calls, before = READ[name]
    result = read_text_calls(without_thoughts(text), OFFERED)
    assert result.unread is None
    assert list(result.calls) == calls
    assert result.text == before
    assert (text_call_form(text) is None) == (not calls)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ('<tool_call>{"name": "shell", "arguments": {"comm', "<tool_call>"),
        ('<tool_call>{"name": "delete", "arguments": {}}</tool_call>', "<tool_call>"),
        (f"<tool_call>{CALL}</tool_call>\nThe folder has two files.", "<tool_call>"),
        ('<tool_call>{"name": "shell", "arguments": "ls"}</tool_call>', "<tool_call>"),
        ("<|python_tag|>print(1)", "<|python_tag|>"),
        ("<function=shell>ls</function>", "<function="),
        ("[TOOL_CALLS]shell please[ARGS]{}", None),
        (f"1. <tool_call>{CALL}</tool_call>\n2. [TOOL_CALLS][{CALL}]", "<tool_call>"),
        (f"I look.\n\n{CALL}", BARE),
        ('```tool_code\nshell(command="ls")\n```', BARE),
        ('<function_calls>\nshell(command="ls")\n</function_calls>', "<function_calls>"),
        ("<start_function_call>call:shell{command:ls}<end_function_call>", "<start_function_call>"),
        ('<|tools_prefix|>[{"shell": {"command": "ls"}}]<|tools_suffix|>', "<|tools_prefix|>"),
        ('[TOOL_CALLS]shell[ARGS]{"command": ', "[TOOL_CALLS]"),
        (f"```json\n{CALL}\n```", BARE),
        ('<|channel|>commentary to=shell<|message|>{"comm', "<|channel|>"),
    ],
)
def test_a_call_that_is_not_clear_is_named(text: str, form: str | None) -> None:
    result = read_text_calls(text, OFFERED)
    assert result.calls == ()
    assert result.unread == form


@pytest.mark.parametrize(
    "text",
    [
        "It is done.",
        "",
        f"A call is `<tool_call>{CALL}</tool_call>`.",
        f"This is a call:\n```\n<tool_call>\n{CALL}\n</tool_call>\n```\nIt is in Hermes' form.",
        f"This is a call:\n~~~\n<function=shell>\n~~~\n{CALL} is its JSON.",
        "A call is between <tool_call> and </tool_call>.",
        "Write [TOOL_CALLS] before the list.",
        "The token <|python_tag|> starts a call.",
        f"It has this form:\n\n> <tool_call>{CALL}</tool_call>",
        f"It has this form:\n\n    <tool_call>{CALL}</tool_call>",
        f'It says "<tool_call>{CALL}</tool_call>',
        f"````\n```\n<tool_call>{CALL}</tool_call>\n```\n````",
        f"``a `b` <tool_call>{CALL}</tool_call>``",
        "It writes <|channel|>commentary to=functions.shell<|message|>{}<|call|>",
        '{"name": "Bob", "arguments": {"age": 5}}',
        '{"steps": ["Use <function=shell>."]}',
        f"The JSON of a call is {CALL}",
        f"```json\n{CALL}\n```\nThat is a call.",
        "[print('x')]",
        "[delete(path='x')]",
        "[1, (2)]",
        "[shell(command=os.environ)]",
        "analysis of the folder: it is done.",
    ],
)
def test_a_text_that_quotes_a_call_is_only_a_text(text: str) -> None:
    result = read_text_calls(text, OFFERED)
    assert (result.calls, result.unread, result.text) == ((), None, text)


@pytest.mark.parametrize(
    ("name", "offered"),
    [
        ("shell", "shell"),
        ("functions.shell", "shell"),
        ("functions.shell:0", "shell"),
        ("shell<|channel|>commentary", "shell"),
        ("functions.shell<|channel|>json", "shell"),
        ("default_api.shell", "shell"),
        ("delete", None),
        ("multi_tool_use.parallel", None),
        ("", None),
    ],
)
def test_a_name_is_matched_to_an_offered_tool(name: str, offered: str | None) -> None:
    assert offered_name(name, OFFERED) == offered


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<think>Hm.</think>Yes.", "Yes."),
        ("\n<think>\nHm.\n</think>\n\nYes.", "Yes."),
        ("<think></think>Yes.", "Yes."),
        ("<think>a</think>\n<think>b</think>Yes.", "Yes."),
        ("<thinking>Hm.</thinking>Yes.", "Yes."),
        ("<seed:think>Hm.</seed:think>Yes.", "Yes."),
        ("[THINK]Hm.[/THINK]Yes.", "Yes."),
        ("◁think▷Hm.◁/think▷Yes.", "Yes."),
        ("<THINK>Hm.</THINK>Yes.", "Yes."),
        ('<think reason="why">Hm.</think>Yes.', "Yes."),
        ("<|channel>thought\nHm.<channel|>Yes.", "Yes."),
        ("<think>Hm.</think>\n<answer>\nYes.\n</answer>", "Yes."),
        ("<|START_THINKING|>Hm.<|END_THINKING|><|START_RESPONSE|>Yes.<|END_RESPONSE|>", "Yes."),
        ("<|start_header_id|>assistant<|end_header_id|>\n\nYes.", "Yes."),
        ("<answer>Yes.</answer>", "<answer>Yes.</answer>"),
        ("Hm.\n</think>\n\nYes.", "Yes."),
        ("Hm.</think>\nYes.", "Yes."),
        ('Hm.</think>{"steps": []}', '{"steps": []}'),
        ("Hm.\n</think>", ""),
        ("<think>Hm.", ""),
        ("<think>Hm.</think>", ""),
        ("Yes.<|im_end|>", "Yes."),
        ("Yes.<|eot_id|>\n", "Yes."),
        ("Yes.</s>", "Yes."),
        ("<|im_start|>assistant\nYes.", "Yes."),
        ("The tag </think> ends the thoughts.", "The tag </think> ends the thoughts."),
        ("Look for `</think>`\nat the end.", "Look for `</think>`\nat the end."),
        ("Write:\n```\n</think>\n```", "Write:\n```\n</think>\n```"),
        ("Use <think> in a template.", "Use <think> in a template."),
        ("x < 5", "x < 5"),
    ],
)
def test_thoughts_are_removed_from_a_text(text: str, expected: str) -> None:
    assert without_thoughts(text) == expected


@pytest.mark.parametrize(
    "piece",
    [
        "<think>",
        "</think>",
        "<tool_call>",
        "`",
        "```",
        "<|channel|>",
        "[TOOL_CALLS]",
        "<",
        "assistant",
    ],
)
def test_a_long_text_is_read_in_bounded_time(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    assert len(without_thoughts(text)) <= len(text)
    assert read_text_calls(text, OFFERED).calls == ()

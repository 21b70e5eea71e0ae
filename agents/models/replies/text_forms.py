"""The forms in which models write tool calls and thoughts as text: tables of patterns. Pure.

Each form comes from the chat template of a model: a server without a parser for the template leaves
the calls in the text of the reply. `text_calls` and `reading` in this package use the tables.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

TOOL = r"[\w.:-]{1,128}"
"""The name of a tool."""
_CALL_KEY = r"[\"'](?:name|function|type|id|tool_name|tool_call_id|arguments|parameters)[\"']"
_JSON = rf"\s*[\[{{]\s*\{{?\s*{_CALL_KEY}"
"""The beginning of a call in JSON, or of a list of calls."""
TAGS = r"(?i:tool_calls?|toolcall|tools|tool_use|function_call|start_function_call)"
_BAR = r"[|\uff5c]"
"""The bar of special tokens. DeepSeek writes a wide bar, and a wide blank (U+2581)."""


@dataclass(frozen=True, slots=True)
class Form:
    """A form of calls, by its beginning. `followed_by` has to come after the beginning, because a
    sentence may only mention it; empty: the beginning is enough."""

    name: str
    """The name of the group in `CALL`."""
    begins: str
    followed_by: str = ""

    @property
    def pattern(self) -> str:
        """The regular expression of both."""
        following = f"(?={self.followed_by})" if self.followed_by else ""
        return f"(?P<{self.name}>{self.begins}){following}"


FORMS = (
    # Hermes, Qwen2.5-coder (<tools>), Nemotron (<TOOLCALL>): <tool_call>{"name": ...}</tool_call>
    # GLM: <tool_call>NAME<arg_key>...; FunctionGemma: <start_function_call>call:NAME{...}
    Form(
        "tag",
        rf"<{_BAR}?{TAGS}{_BAR}?>",
        rf"{_JSON}|\s*```(?:json)?{_JSON}|\s*<function=|call:"
        rf"|\n?{TOOL}\n?(?:<arg_key>|</tool_call>)",
    ),
    # Qwen3-coder: <function=NAME><parameter=...>; Llama 3.1: <function=NAME>{...}
    Form("function", r"<function=", TOOL),
    # Mistral: [TOOL_CALLS][{...}], [TOOL_CALLS]NAME[ARGS]{...}; LM Studio: [TOOL_REQUEST]{...}
    Form("list", r"\[TOOL_(?:CALLS|REQUEST)\]", rf"{_JSON}|\s*{TOOL}[\[{{]"),
    # DeepSeek V3.2: a tag that ends with function_calls; MiniMax: <minimax:tool_call>
    Form("wrapper", r"<[^<>\s]*(?:function_calls|:tool_call)>", rf"\s*(?:<|{TOOL}\()"),
    # The calls of DeepSeek V3.2 and MiniMax: <invoke name="NAME">
    Form("invoke", r"<[^<>\s]*invoke name="),
    # Llama: <|python_tag|>; Command: <|START_ACTION|>; InternLM: <|action_start|>; Granite and
    # Phi-4: <|tool_call|>; Apertus: <|tools_prefix|>; DeepSeek R1 and V3.1, Kimi: tool calls begin
    Form(
        "token",
        rf"<{_BAR}(?:python_tag|START_ACTION|action_start|tool_calls?(?:_start)?"
        rf"|tools_prefix|tool[_\u2581]calls?[_\u2581](?:section[_\u2581])?begin){_BAR}>",
        r"\s*[\[{<]|\n?\w",
    ),
    # Phi-3: functools[{...}]
    Form("functools", r"functools", r"\[\{"),
    # gpt-oss: the harmony format, see HARMONY_MESSAGE
    Form(
        "harmony",
        r"<\|start\|>assistant|(?<=\n)<\|channel\|>",
        r"(?:[^<]*<\|(?:channel|constrain)\|>)*[^<]*\bto=[^<]*(?:<\|constrain\|>[^<]*)?<\|message",
    ),
)
"""The forms, by priority: at one position, the first form that matches counts."""

MARK = re.compile(
    rf"\s*(?:<{_BAR}[^<>\n]{{1,40}}{_BAR}>|</?(?:{TAGS}|[^<>\s]*(?:function_calls|:tool_call))>"
    r"|\[/?TOOL_CALLS\]|\[(?:END_)?TOOL_REQUEST\]|\[ARGS\]|\[CALL_ID\]\w+|functools|```(?:json)?|[;,])\s*"
)
"""Text between names and arguments: special tokens, tags, Mistral's and LM Studio's brackets."""
_END = r"(?=\s*(?:[<\[;,]|\Z))"
"""A closing tag ends a value if a tag, a mark or nothing follows; else it is part of the value."""

TAGGED_CALLS = (
    # Qwen3-coder and Llama 3.1; some replies lack the bracket after the name.
    re.compile(
        rf"<function=(?P<name>{TOOL})>?(?P<body>.*?)(?:</function>{_END}|\Z)\s*",
        re.DOTALL,
    ),
    # DeepSeek V3.2 and MiniMax
    re.compile(
        r"<(?P<space>[^<>\s]*)invoke name=\"(?P<name>[^\"]+)\">(?P<body>.*?)"
        rf"(?:</(?P=space)invoke>{_END}|\Z)\s*",
        re.DOTALL,
    ),
    # GLM
    re.compile(
        rf"(?P<name>{TOOL})\s*(?=<arg_key>)(?P<body>.*?)(?:</tool_call>{_END}|\Z)\s*",
        re.DOTALL,
    ),
)
"""Calls with the name in a tag, and the arguments in the body."""
ARGUMENT = re.compile(
    r"\s*(?:<parameter=(?P<name>[\w.-]+)>|<[^<>\s]*parameter name=\"(?P<named>[^\"]+)\"[^<>]*>"
    r"|<arg_key>(?P<key>.*?)</arg_key>\s*<arg_value>)"
    r"(?P<value>.*?)"
    rf"(?:(?:</[^<>\s]*parameter>|</arg_value>){_END}|(?=\n<parameter=)|\Z)\s*",
    re.DOTALL,
)
"""An argument in the body of such a call: `<parameter=NAME>` (Qwen3-coder),
`<parameter name="NAME">` (DeepSeek, MiniMax), `<arg_key>NAME</arg_key>` (GLM)."""
EXAMPLE = re.compile(r"\s*```\w*\n(.*)\n```\s*|.*?\n[ \t]{0,40}([\[{].*)", re.DOTALL)
"""The JSON in a reply that is one fence, or at the end of a text."""
LONE_CLOSING = re.compile(rf"</{TAGS}>\Z")
"""A closing tag after JSON: the opening tag was a special token, which the server dropped."""

# gpt-oss: https://cookbook.openai.com/articles/openai-harmony
HARMONY_MESSAGE = re.compile(
    r"(?:\s*<\|start\|>)?(?P<head>\w*(?:\s+to=[\w.:-]+)?\s*(?:<\|(?:channel|constrain)\|>[^<]*)*)<\|message\|>"
    r"(?P<body>.*?)"
    r"(?:<\|(?:end|call|return)\|>\s*|(?=<\|(?:start|channel)\|>)|\Z)",
    re.DOTALL,
)
HARMONY_WITHOUT_TOKENS = re.compile(
    r"\s*(?:(?:analysis.*?)?assistant)?commentary to=(?P<tool>[\w.:-]+)\s*(?:(?:json|code)\s*)?"
    r"(?P<arguments>\{.*\})\s*"
    r"|\s*analysis.*?assistantfinal(?P<text>.+)",
    re.DOTALL,
)
"""A call or an answer from a server that drops the special tokens."""

# Markdown
_CODE = (
    r"(?P<code>(?P<fence>`{3,}|~{3,}).*?(?:(?P=fence)|\Z)"
    r"|(?P<ticks>`{1,2})(?!`)[^\n]*?(?<!`)(?P=ticks)(?!`))"
)
_QUOTATION_MARKS = ('"', "'", "\u201c", "\u2018", "\u00ab", "\u201e")


def outside_code(pattern: str) -> re.Pattern[str]:
    """A pattern that matches code or `pattern`, so that a search passes over the code; see
    `find_outside_code`."""
    return re.compile(f"{_CODE}|(?:{pattern})", re.DOTALL)


def find_outside_code(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    """The first match outside of code of a pattern by `outside_code`."""
    return next((match for match in pattern.finditer(text) if match["code"] is None), None)


def is_quoted(text: str, position: int) -> bool:
    """Whether the text at a position is shown as a quotation: after an opening quotation mark, or
    in a line that begins with `>` or, below another line, with four blanks."""
    start = text.rfind("\n", 0, position) + 1
    before = text[start:position]
    is_code = start > 0 and before.startswith(("    ", "\t"))
    return is_code or before.lstrip().startswith(">") or before.endswith(_QUOTATION_MARKS)


CALL = outside_code("|".join(form.pattern for form in FORMS))
"""The beginning of a call, in any form, or code; `lastgroup` is the form's name."""


# Thoughts, and the tokens of chat templates around a reply
_THOUGHTS = r"(?i:think|thinking|thoughts?|reasoning|seed:think)"
THOUGHTS_BEGIN = re.compile(
    rf"\s*(?:<{_THOUGHTS}(?:\s[^<>]*)?>|\[THINK\]|◁think▷|<\|START_THINKING\|>|<\|begin_of_thought\|>"
    r"|<\|channel>thought)"  # Gemma 4
)
_CLOSING = (
    rf"</{_THOUGHTS}>|\[/THINK\]|◁/think▷|<\|END_THINKING\|>|<\|end_of_thought\|>|<channel\|>"
)
THOUGHTS_END = re.compile(_CLOSING)
LONE_THOUGHTS_END = outside_code(
    rf"(?:^|(?<=\n))(?:{_CLOSING})|(?:{_CLOSING})(?=\s*(?:\n|\Z|[\[{{<]))"
)
"""A closing tag as servers leave it: at the beginning or the end of a line, or before a value. In
a sentence that explains the tag, it is neither."""
LAST_TOKENS = (
    *("<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|end|>", "<|endoftext|>", "<|end_of_text|>"),
    *("<|return|>", "<|call|>", "<|eos|>", "<|assistant|>", "<|END_RESPONSE|>"),
    *("<\uff5cend\u2581of\u2581sentence\uff5c>", "</s>", "<eos>", "<end_of_turn>"),
    "<|end_of_solution|>",
)
FIRST_TOKENS = re.compile(
    r"\A\s*(?:<\|im_start\|>\s*assistant"
    r"|<\|start_header_id\|>\s*assistant\s*<\|end_header_id\|>"
    r"|<\|(?:START_RESPONSE|begin_of_solution)\|>)\s*"
)
ANSWER_TAG = re.compile(r"<(answer|response)>")
"""After thoughts, the tags of models such as Hunyuan."""

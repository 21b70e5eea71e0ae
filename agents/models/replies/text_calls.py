"""Tool calls in the text of a reply. Pure.

A server without a tool-call parser leaves the calls of its model in the text, in the form of the
model's chat template. A form is read only if its meaning is clear: it is not in code that is shown,
it ends the text, each call names an offered tool, and its arguments are an object.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from agents.models.replies.arguments import as_object
from agents.models.replies.code_spans import find, outside_code
from agents.models.replies.ending import MALFORMED
from agents.models.replies.harmony import FORM as HARMONY
from agents.models.replies.harmony import read_harmony
from agents.models.replies.python_calls import FORM as PYTHON
from agents.models.replies.python_calls import read_python_calls

BARE = '{"name": ..., "arguments": ...}'
"""A reply that is nothing but the JSON of its calls."""

_TOOL = r"[\w.:-]+"
_CALL_KEY = r"[\"'](?:name|function|type|id|tool_name|tool_call_id|arguments|parameters)[\"']"
_JSON = rf"\s*[\[{{]\s*\{{?\s*{_CALL_KEY}"
_TAGS = r"tool_calls?|toolcall|tools|function_call"
_BAR = r"[|\uff5c]"
_FORM = outside_code(
    rf"(?P<tag><(?:{_TAGS})>)(?={_JSON}|\s*<function=|\n?{_TOOL}\n?(?:<arg_key>|</tool_call>))"
    rf"|(?P<function><function=)(?={_TOOL})"
    rf"|(?P<list>\[TOOL_CALLS\])(?={_JSON}|\s*{_TOOL}[\[{{])"
    r"|(?P<wrapper><[^<>\s]*(?:function_calls|:tool_call)>)(?=\s*<)"
    r"|(?P<invoke><[^<>\s]*invoke name=)"
    rf"|(?P<token><{_BAR}(?:python_tag|START_ACTION|tool_calls?(?:_start)?){_BAR}>"
    rf"|<{_BAR}tool[_\u2581]calls?[_\u2581](?:section[_\u2581])?begin{_BAR}>)"
    r"|(?P<functools>functools)(?=\[\{)"
)
"""The beginning of a call. A tag alone is not enough, because a sentence may mention it."""
_MARK = re.compile(
    rf"\s*(?:<{_BAR}[^<>\n]{{1,40}}{_BAR}>|</?(?:{_TAGS}|[^<>\s]*(?:function_calls|:tool_call))>"
    r"|\[/?TOOL_CALLS\]|\[ARGS\]|\[CALL_ID\]\w+|functools|```(?:json)?|[;,])\s*"
)
"""Text between names and arguments."""
_NAME = re.compile(rf"({_TOOL})\s*")
_TAGGED = tuple(
    re.compile(pattern + r"(?P<body>.*?)" + end + r"\s*", re.DOTALL)
    for pattern, end in (
        # Qwen3-coder and Llama 3.1; some replies lack the bracket
        (rf"<function=(?P<name>{_TOOL})>?", r"(?:</function>|\Z)"),
        (r"<(?P<space>[^<>\s]*)invoke name=\"(?P<name>[^\"]+)\">", r"(?:</(?P=space)invoke>|\Z)"),
        (rf"(?P<name>{_TOOL})\s*(?=<arg_key>)", r"(?:</tool_call>|\Z)"),  # GLM
    )
)
_ARGUMENT = re.compile(
    r"\s*(?:<parameter=(?P<name>[\w.-]+)>|<[^<>\s]*parameter name=\"(?P<named>[^\"]+)\"[^<>]*>"
    r"|<arg_key>(?P<key>.*?)</arg_key>\s*<arg_value>)"
    r"(?P<value>.*?)"
    r"(?:</[^<>\s]*parameter>|</arg_value>|(?=\s*<parameter=)|\Z)\s*",
    re.DOTALL,
)
_FENCED = re.compile(r"\s*```\w*\n(.*)\n```\s*", re.DOTALL)
_NAME_KEYS = ("name", "tool_name", "function")
_ARGUMENT_KEYS = ("arguments", "parameters", "args", "input")
_DECODER = json.JSONDecoder(strict=False)


class TextCall(NamedTuple):
    """A call in a text; its name is that of an offered tool."""

    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class TextCalls:
    """The calls in a text, and the text before them. Without calls, the text alone is for the
    reader. `unread` is the form of calls that cannot be read."""

    text: str
    calls: Sequence[TextCall] = ()
    unread: str | None = None


def text_call_form(text: str) -> str | None:
    """The form of a tool call in a text, such as `<tool_call>`; None if it has none."""
    harmony = read_harmony(text)
    if harmony is not None and harmony.calls:
        return HARMONY
    if read_python_calls(text):
        return PYTHON
    if (value := _json(text)) is not None:
        return BARE if _bare_calls(value) else None
    if match := find(_FORM, text):
        return str(match[match.lastgroup or 0])
    fenced = _FENCED.fullmatch(text)
    return BARE if fenced and _bare_calls(_json(fenced[1])) else None


def read_text_calls(text: str, offered: Collection[str]) -> TextCalls:
    """The calls of offered tools in a text, if their meaning is clear."""
    if (harmony := read_harmony(text)) is not None:
        calls = [(name, as_object(arguments)) for name, arguments in harmony.calls]
        return _offered(harmony.text, calls, offered, HARMONY)
    form = text_call_form(text)
    if form is None:
        return TextCalls(text)
    if form not in {BARE, PYTHON}:
        start = match.start() if (match := find(_FORM, text)) else 0
        return _offered(text[:start].strip(), list(_calls_from(text, start)), offered, form)
    fenced = _FENCED.fullmatch(text)
    bare = read_python_calls(text) or _bare_calls(_json(fenced[1] if fenced else text))
    if all(offered_name(name, offered) is None for name, _ in bare):
        return TextCalls(text)  # JSON that looks like a call
    if fenced:
        return TextCalls(text, unread=BARE)  # a call that is shown, or made
    return _offered("", bare, offered, form)


def offered_name(name: str, offered: Collection[str]) -> str | None:
    """The offered tool that a name means, or None: models add `functions.` before a name, and
    `<|channel|>commentary` or `:0` after it."""
    plain = name.partition("<|")[0].strip()
    candidates = (name, plain, plain.rpartition(".")[2], plain.rpartition(".")[2].partition(":")[0])
    return next((each for each in candidates if each in offered), None)


def _offered(
    text: str,
    written: Sequence[tuple[str, dict[str, Any]]],
    offered: Collection[str],
    form: str | None,
) -> TextCalls:
    calls = [
        TextCall(known, arguments)
        for name, arguments in written
        if (known := offered_name(name, offered)) is not None and MALFORMED not in arguments
    ]
    if len(calls) == len(written) and (calls or form == HARMONY):
        return TextCalls(text, calls)
    return TextCalls(text, unread=form)


def _calls_from(text: str, position: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """The calls from a position to the end of the text. Any other text there gives a call without a
    name, which is not an offered tool."""
    name: str | None = None
    after_mark = True
    while position < len(text):
        if mark := _MARK.match(text, position):
            position, after_mark = mark.end(), True
        elif tagged := _tagged(text, position):
            yield tagged["name"], _tagged_arguments(tagged["body"])
            position, after_mark = tagged.end(), True
        elif text[position] in "[{":
            try:
                value, end = _DECODER.raw_decode(text, position)
            except (ValueError, RecursionError):
                break
            yield from [(name, value)] if name and isinstance(value, dict) else _json_calls(value)
            name, after_mark, position = None, False, _after_space(text, end)
        elif after_mark and (word := _NAME.match(text, position)):
            name, position, after_mark = word[1], word.end(), False
        else:
            break
    if name is not None and position == len(text):
        yield name, {}  # a tool without arguments
    elif position < len(text):
        yield "", {}


def _after_space(text: str, position: int) -> int:
    while position < len(text) and text[position].isspace():
        position += 1
    return position


def _tagged(text: str, position: int) -> re.Match[str] | None:
    return next((match for each in _TAGGED if (match := each.match(text, position))), None)


def _tagged_arguments(body: str) -> dict[str, Any]:
    """The arguments of a call that are JSON, or in tags, each a text."""
    if body.lstrip().startswith("{") or not body.strip():
        return as_object(body)
    arguments, position = {}, 0
    while position < len(body):
        match = _ARGUMENT.match(body, position)
        if match is None or match.end() == position:
            return {MALFORMED: body}
        name = match["name"] or match["named"] or (match["key"] or "").strip()
        arguments[name] = match["value"].removeprefix("\n").removesuffix("\n")
        position = match.end()
    return arguments


def _json(text: str) -> Any:
    """The object or list that is the whole text, or None."""
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None


def _bare_calls(value: Any) -> Sequence[tuple[str, dict[str, Any]]]:
    """The calls in a JSON value that has nothing else; none for any other value."""
    calls = list(_json_calls(value))
    return calls if all(name for name, _ in calls) else ()


def _json_calls(value: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """The calls in a JSON value; one without a name for anything that is no call."""
    for each in value if isinstance(value, list) else [value]:
        call = each.get("function") if isinstance(each, dict) else None
        call = call if isinstance(call, dict) else each
        if not isinstance(call, dict):
            yield "", {}
            continue
        name = next((call[key] for key in _NAME_KEYS if isinstance(call.get(key), str)), "")
        keys = [key for key in _ARGUMENT_KEYS if key in call]
        others = call.keys() - {*_NAME_KEYS, *_ARGUMENT_KEYS, "id", "type", "tool_call_id"}
        is_call = len(keys) == 1 and not others
        yield (name, as_object(call[keys[0]])) if is_call else ("", {})

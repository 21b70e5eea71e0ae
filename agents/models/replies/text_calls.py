"""Tool calls in the text of a reply. Pure.

A server without a tool-call parser leaves the calls of its model in the text
(`agents.models.replies.text_forms`). Calls are read only if their meaning is clear: they are not
in Markdown code, they end the text, each names an offered tool, and its arguments are an object.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from agents.models.replies.arguments import as_object
from agents.models.replies.ending import MALFORMED
from agents.models.replies.text_forms import (
    ARGUMENT,
    CALL,
    EXAMPLE,
    HARMONY_MESSAGE,
    HARMONY_WITHOUT_TOKENS,
    LONE_CLOSING,
    MARK,
    TAGGED_CALLS,
    TOOL,
    is_quoted,
)

BARE = '{"name": ..., "arguments": ...}'
"""A reply that is nothing but the JSON of its calls."""

HARMONY = "<|channel|>"
"""The harmony format of gpt-oss."""
PYTHON = "[name(argument=...)]"
"""A list of Python calls, as Llama 4 writes it."""

_NAME = re.compile(rf"({TOOL})\s*")
_HARMONY_TOOL = re.compile(r"\bto=([\w.:-]+)")
_NAME_KEYS = ("name", "tool_name", "function")
_ARGUMENT_KEYS = ("arguments", "parameters", "args", "input")
_DECODER = json.JSONDecoder(strict=False)


class TextCall(NamedTuple):
    """A call in a text. Its name is the name of an offered tool."""

    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class TextCalls:
    """The calls in a text, and the text before them. Without calls, all of the text is for the
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
    if match := _form_in(text):
        return str(match[match.lastgroup or 0]).strip()
    example = EXAMPLE.fullmatch(text)
    return BARE if example and _example_calls(example) else None


def read_text_calls(text: str, offered: Collection[str]) -> TextCalls:
    """The calls of offered tools in a text, if their meaning is clear."""
    if (harmony := read_harmony(text)) is not None:
        calls = [(name, as_object(arguments)) for name, arguments in harmony.calls]
        return _offered(harmony.text, calls, offered, HARMONY)
    form = text_call_form(text)
    if form is None:
        return TextCalls(text)
    if form not in {BARE, PYTHON}:
        start = match.start() if (match := _form_in(text)) else 0
        return _offered(text[:start].strip(), list(_calls_from(text, start)), offered, form)
    example = None if _json(text) is not None else EXAMPLE.fullmatch(text)
    bare = (
        _example_calls(example) if example else read_python_calls(text) or _bare_calls(_json(text))
    )
    if all(offered_name(name, offered) is None for name, _ in bare):
        return TextCalls(text)  # JSON that looks like a call
    if example:
        return TextCalls(text, unread=BARE)  # a call that is shown, or made
    return _offered("", bare, offered, form)


def offered_name(name: str, offered: Collection[str]) -> str | None:
    """The offered tool that a name means, or None: models add `functions.` or `default_api:` before
    a name, and `<|channel|>commentary` or `:0` after it."""
    plain = name.partition("<|")[0].strip()
    candidates = (name, plain, *reversed(re.split("[.:/]", plain)))
    return next((candidate for candidate in candidates if candidate in offered), None)


def _form_in(text: str) -> re.Match[str] | None:
    """The beginning of the first call that is not shown as code or as a quotation."""
    calls = (match for match in CALL.finditer(text) if match["code"] is None)
    return next((match for match in calls if not is_quoted(text, match.start())), None)


def _offered(
    text: str,
    written: Sequence[tuple[str, dict[str, Any]]],
    offered: Collection[str],
    form: str | None,
) -> TextCalls:
    calls = [
        TextCall(offered_tool, arguments)
        for name, arguments in written
        if (offered_tool := offered_name(name, offered)) is not None and MALFORMED not in arguments
    ]
    if len(calls) == len(written) and (calls or form == HARMONY):
        return TextCalls(text, calls)
    return TextCalls(text, unread=form)


def _calls_from(text: str, position: int) -> Iterator[tuple[str, dict[str, Any]]]:
    """The calls from a position to the end of the text. Any other text there gives a call without a
    name, which is not an offered tool."""
    if (harmony := read_harmony(text[position:])) is not None:
        yield from [(name, as_object(arguments)) for name, arguments in harmony.calls]
        return
    name: str | None = None
    after_mark = True
    while position < len(text):
        if mark := MARK.match(text, position):
            position, after_mark = mark.end(), True
        elif tagged := _tagged(text, position):
            yield tagged["name"], _tagged_arguments(tagged["body"])
            position, after_mark = tagged.end(), True
        elif text[position] in "[{":
            value, end = _value_at(text, position)
            if name is None:
                yield from _json_calls(value)
            else:
                yield (name, value) if isinstance(value, dict) else ("", {})
            name, after_mark, position = None, False, _after_space(text, end)
        elif after_mark and (word := _NAME.match(text, position)):
            name, position, after_mark = word[1], word.end(), False
        else:
            break
    if name is not None and position == len(text):
        yield name, {}  # a tool without arguments
    elif position < len(text):
        yield "", {}


def _value_at(text: str, position: int) -> tuple[Any, int]:
    """The value at a position and its end: JSON, or a Python literal with single quotes."""
    try:
        return _DECODER.raw_decode(text, position)
    except (ValueError, RecursionError):
        end = max(text.rfind("}"), text.rfind("]")) + 1
    try:
        return ast.literal_eval(text[position:end]), end
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None, len(text)


def _after_space(text: str, position: int) -> int:
    while position < len(text) and text[position].isspace():
        position += 1
    return position


def _tagged(text: str, position: int) -> re.Match[str] | None:
    return next(
        (match for pattern in TAGGED_CALLS if (match := pattern.match(text, position))), None
    )


def _tagged_arguments(body: str) -> dict[str, Any]:
    """The arguments of a call that are JSON, or in tags, each a text."""
    if body.lstrip().startswith("{") or not body.strip():
        return as_object(body)
    arguments, position = {}, 0
    while position < len(body):
        match = ARGUMENT.match(body, position)
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
        return json.loads(LONE_CLOSING.sub("", text.rstrip()), strict=False)
    except (ValueError, RecursionError):
        return None


def _example_calls(example: re.Match[str]) -> Sequence[tuple[str, dict[str, Any]]]:
    """The calls in a match of `EXAMPLE`: JSON, or in a fence Python, too (Gemma)."""
    python = read_python_calls(f"[{example[1]}]") if example[1] else ()
    return python or _bare_calls(_json(example[1] or example[2]))


def _bare_calls(value: Any) -> Sequence[tuple[str, dict[str, Any]]]:
    """The calls in a JSON value that has nothing else; none for any other value."""
    if isinstance(value, dict) and isinstance(value.get("tool_calls"), list):
        value = value["tool_calls"]
    calls = list(_json_calls(value))
    return calls if all(name for name, _ in calls) else ()


def _json_calls(value: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """The name and the arguments of each call in a JSON value. An item that is no call has an empty
    name."""
    for item in value if isinstance(value, list) else [value]:
        call = item.get("function") if isinstance(item, dict) else None
        call = call if isinstance(call, dict) else item
        if not isinstance(call, dict):
            yield "", {}
            continue
        name = next((call[key] for key in _NAME_KEYS if isinstance(call.get(key), str)), "")
        keys = [key for key in _ARGUMENT_KEYS if key in call]
        unknown_keys = call.keys() - {*_NAME_KEYS, *_ARGUMENT_KEYS, "id", "type", "tool_call_id"}
        is_call = len(keys) == 1 and not unknown_keys
        yield (name, as_object(call[keys[0]])) if is_call else ("", {})


@dataclass(frozen=True, slots=True)
class HarmonyText:
    """The text for the reader, and each call as its name and its arguments as text."""

    text: str
    calls: tuple[tuple[str, str], ...]


def read_harmony(text: str) -> HarmonyText | None:
    """The messages in a text that consists of them; None for any other text."""
    if plain := HARMONY_WITHOUT_TOKENS.fullmatch(text):
        call = (plain["tool"], plain["arguments"])
        return HarmonyText((plain["text"] or "").strip(), (call,) if plain["tool"] else ())
    texts: list[str] = []
    calls: list[tuple[str, str]] = []
    position = 0
    while position < len(text):
        message = HARMONY_MESSAGE.match(text, position)
        if message is None or "<|channel|>" not in message["head"]:
            return None
        position = message.end()
        if to := _HARMONY_TOOL.search(message["head"]):
            calls.append((to[1], message["body"]))
        elif "analysis" not in message["head"]:
            texts.append(message["body"].strip())
    return HarmonyText("\n\n".join(texts), tuple(calls)) if text else None


def read_python_calls(text: str) -> Sequence[tuple[str, dict[str, Any]]]:
    """The calls in a text that is nothing but a list of them; none for any other text.

    Arguments have names, and their values are literals.
    """
    text = text.strip()
    if not (text.startswith("[") and text.endswith(")]")):
        return ()
    try:
        expression = ast.parse(text, mode="eval").body
        elements = expression.elts if isinstance(expression, ast.List) else []
        return [_call(element) for element in elements]
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return ()


def _call(node: ast.expr) -> tuple[str, dict[str, Any]]:
    if (
        not isinstance(node, ast.Call)
        or node.args
        or any(word.arg is None for word in node.keywords)
    ):
        raise ValueError("not a call with named arguments")
    arguments = {str(word.arg): ast.literal_eval(word.value) for word in node.keywords}
    return ast.unparse(node.func), arguments

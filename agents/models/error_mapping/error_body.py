"""Reads the body of a provider's error: its sentence, and the words that classify it. Pure.

There is no common shape. OpenAI, Anthropic and Gemini send `{"error": {"message": ...}}`, FastAPI
`{"detail": ...}` (a text or a list), Ollama `{"error": "..."}`, Bedrock and APIM
`{"message": ...}`, Cloudflare `{"errors": [...]}`. A gateway puts the provider's body into a text
of its own: as JSON (LiteLLM), as the text of a Python dict (servers that show an error of OpenAI's
library), or in `metadata.raw` (OpenRouter).
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

_SENTENCES = ("message", "Message", "detail", "msg", "errorMessage", "error_description")
_SIGNS = ("code", "type", "status", "reason", "quotaId", "__type", "error_type", "error_code")
_TEXTS = (*_SENTENCES, "error")
_QUOTED_STATUS = re.compile(r"\bError code: ([45]\d\d) - ")
"""In the text of an error of OpenAI's or Anthropic's library, which a gateway shows."""
_STATUSES = ("code", "status_code", "statusCode")
_MOST_DEPTH = 6
_MOST_ITEMS = 50
"""Of a list, this many items are read; `_SHOWN_ITEMS` of them are shown."""
_SHOWN_ITEMS = 3
_MOST_CHARACTERS = 20_000
"""A longer text is not read as an object."""
_TAG = re.compile(r"<[^<>]*>")
_PAGE_CHARACTERS = 120
# LiteLLM writes the name of its error before the provider's message, which may be an object.
_NAMED_ERROR = re.compile(r"litellm\.(?:exceptions\.)?(\w+)")


class ErrorBody(NamedTuple):
    """`sentence` is for people, and may be empty. `signs` are codes, types, reasons and names
    of errors of all levels, outermost first, with `param=NAME`. `status` is the first HTTP status
    among them, as a number or a text."""

    sentence: str
    signs: tuple[str, ...] = ()
    status: int | None = None


def read_error(value: Any) -> ErrorBody:
    """`value` is the body of an error or the error within it: parsed JSON, or a text."""
    levels = list(_levels({"error": value} if isinstance(value, str) else value, 0))
    signs = [sign for level in levels for sign in _signs(level)]
    statuses = [_status(level.get(name)) for level in levels for name in _STATUSES]
    texts = (str(level.get(name))[:_MOST_CHARACTERS] for level in levels for name in _TEXTS)
    statuses += [int(code) for text in texts for code in _QUOTED_STATUS.findall(text)]
    return ErrorBody(_sentence(value, 0), tuple(signs), next(filter(None, statuses), None))


def page_title(text: str) -> str | None:
    """The title of a web page or another document with tags, or its first words; None if `text` is
    no such document."""
    if not text.lstrip().startswith("<"):
        return None
    start = text[:_MOST_CHARACTERS]
    begin = start.lower().find("<title")
    title = start[begin:].partition(">")[2].partition("<")[0]
    words = title if begin >= 0 else _TAG.sub(" ", start)
    return " ".join(words.split())[:_PAGE_CHARACTERS]


def _levels(value: Any, depth: int) -> Iterator[Mapping[str, Any]]:
    """All objects within an error, outermost first; those that are written in texts, too."""
    if depth > _MOST_DEPTH:
        return
    if isinstance(value, Mapping):
        yield value
        for item in value.values():
            yield from _levels(item, depth + 1)
    elif isinstance(value, list):
        for item in value[:_MOST_ITEMS]:
            yield from _levels(item, depth + 1)
    elif isinstance(value, str) and (inner := _written(value)) is not None:
        yield from _levels(inner, depth + 1)


def _signs(level: Mapping[str, Any]) -> Iterator[str]:
    for name in _SIGNS:
        if isinstance(level.get(name), str | int):
            yield str(level[name])
    if isinstance(level.get("param"), str):
        yield f"param={level['param']}"
    yield from _NAMED_ERROR.findall(str(level.get("message"))[:_MOST_CHARACTERS])


def _status(code: Any) -> int | None:
    """400 and "400", but not a provider's own code such as "1113"."""
    text = str(code) if isinstance(code, str | int) else ""
    return int(text) if re.fullmatch(r"[45]\d\d", text) else None


def _sentence(value: Any, depth: int) -> str:
    if depth > _MOST_DEPTH:
        return ""
    if isinstance(value, str):
        inner = _written(value)
        return (_sentence(inner, depth + 1) if inner is not None else "") or value.strip()
    if isinstance(value, Sequence):
        listed = (_sentence(item, depth + 1) for item in value[:_SHOWN_ITEMS])
        return "; ".join(filter(None, listed))
    if not isinstance(value, Mapping):
        return ""
    return next(filter(None, (_sentence(part, depth + 1) for part in _candidates(value))), "")


def _candidates(level: Mapping[str, Any]) -> Iterator[Any]:
    """Where the sentence of an object may be, the most specific place first."""
    error, metadata = level.get("error"), level.get("metadata")
    if isinstance(metadata, Mapping):
        yield metadata.get("raw")
    if not isinstance(error, str):
        yield error
    if isinstance(level.get("loc"), list):  # pydantic's, with the request as `input`
        yield f"{'.'.join(map(str, level['loc']))}: {level.get('msg')}"
    for name in _SENTENCES:
        yield level.get(name)
    yield error
    yield level.get("errors")
    yield level.get("title")


def _written(text: str) -> Mapping[str, Any] | None:
    """The error object that is written in a text, or None."""
    start = text.find("{")
    if start < 0 or len(text) > _MOST_CHARACTERS:
        return None
    value = _parsed(text, start)
    return value if isinstance(value, dict) and _is_error(value) else None


def json_at(text: str, start: int) -> Any:
    """The JSON value that begins at `start` of a text; None if no value begins there."""
    try:
        return json.JSONDecoder().raw_decode(text, start)[0]
    except (ValueError, RecursionError):
        return None


def _parsed(text: str, start: int) -> Any:
    """The value that begins at `start`, as JSON or as Python writes it."""
    if (value := json_at(text, start)) is not None:
        return value
    written = text[start : text.rfind("}") + 1]
    try:
        if text[:start].endswith("b'"):
            return json.loads(ast.literal_eval(f"b'{written}'"))
        return ast.literal_eval(written)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None


def _is_error(value: Mapping[str, Any]) -> bool:
    """Whether an object in a text is an error, and not an example or part of the request."""
    if "error" in value or "detail" in value or "errors" in value:
        return True
    return "message" in value and bool({"code", "type", "status", "statusCode"} & set(value))

"""Reads the body of a provider's error: its sentence, the words that classify it, and when the
provider wants to be called again. Pure.

There is no common shape. OpenAI, Anthropic and Gemini send `{"error": {"message": ...}}`, FastAPI
`{"detail": ...}` (a text or a list), Ollama `{"error": "..."}`, Bedrock and APIM
`{"message": ...}`, Cloudflare `{"errors": [...]}`. A gateway puts the provider's body into its
own text: as JSON (LiteLLM), as the text of a Python dict (servers that show an error of OpenAI's
library), or in `metadata.raw` (OpenRouter).
"""

from __future__ import annotations

import ast
import json
import math
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple

_SENTENCES = ("message", "Message", "detail", "msg", "errorMessage", "error_description")
_SIGNS = ("code", "type", "status", "reason", "quotaId", "__type", "error_type", "error_code")
_TEXTS = (*_SENTENCES, "error")
_QUOTED_STATUS = re.compile(r"\bError code: ([45]\d\d) - ")
"""In the text of an error of OpenAI's or Anthropic's library, which a gateway shows."""
_STATUSES = ("code", "status_code", "statusCode")
_MOST_DEPTH = 6
_MOST_ITEMS = 50
"""The most items of a list that are read; a message has `_SHOWN_ITEMS` of them."""
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


_RETRY_INFO = "type.googleapis.com/google.rpc.RetryInfo"
LONGEST_SECONDS = 86_400.0
"""A longer wait counts as a day: limits of providers are per day or shorter."""

_UNITS = {"d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_UNIT = (
    r"(\d{1,12}(?:\.\d{1,12})?) ?(d|h|ms|m|s)"
    r"(?:ays?|ours?|in(?:ute)?s?|ec(?:ond)?s?)?(?![a-zA-Z])"
)
_PARTS = re.compile(_UNIT)
_DURATION = re.compile(rf"(?:{_UNIT} ?)+")
_IN_MESSAGE = re.compile(
    rf"(?:(?:try|retry)(?:ing)?(?: again)? (?:in|after)|wait(?: for)?|resets? in) ((?:{_UNIT} ?)+)",
    re.IGNORECASE,
)
# LiteLLM repeats the provider's headers under this prefix.
_PREFIXES = ("", "llm_provider-")
_PAIRS = (
    ("x-ratelimit-remaining", "x-ratelimit-reset"),
    ("ratelimit-remaining", "ratelimit-reset"),
    ("x-ratelimit-remaining-{}", "x-ratelimit-reset-{}"),
    ("anthropic-ratelimit-{}-remaining", "anthropic-ratelimit-{}-reset"),
)
_SECONDS = ("retry_after", "retryAfter", "retry_after_seconds", "estimated_time")
"""Fields of an error object. The last is Hugging Face's, while a model is loaded."""
_COUNTED = ("requests", "tokens", "input-tokens", "output-tokens")
_FIRST = re.compile("[,;]")
"""After the first of several values (a proxy may add its own), and before parameters."""
_EPOCH_SECONDS, _EPOCH_MILLISECONDS = 1e9, 1e12


def retry_after_seconds(
    headers: Mapping[str, str], details: Mapping[str, Any], message: str = ""
) -> float | None:
    """Seconds from now, at most `LONGEST_SECONDS`; None if the provider did not say.

    The first of these counts: the header `Retry-After-Ms` or `Retry-After` (seconds or a date, RFC
    9110 section 10.2.3); the reset of a limit of which 0 remains (`X-RateLimit-Reset-Tokens` with
    `1m26.4s`); Gemini's `RetryInfo` in the error's details; a field such as `retry_after`; `try
    again in 7.66s` in the message.
    """
    waits = _waits(headers, details, message)
    seconds = next((wait for wait in waits if wait is not None), None)
    return None if seconds is None else min(max(seconds, 0.0), LONGEST_SECONDS)


def _waits(
    headers: Mapping[str, str], details: Mapping[str, Any], message: str
) -> Iterator[float | None]:
    headers = {**_headers_in(details), **headers}
    for prefix in _PREFIXES:
        milliseconds = _number(headers.get(f"{prefix}retry-after-ms", ""))
        yield None if milliseconds is None else milliseconds / 1_000
        yield _from_header(headers.get(f"{prefix}retry-after", ""))
    for prefix in _PREFIXES:
        resets = [
            _from_header(headers.get(prefix + reset.format(counted), ""))
            for remaining, reset in _PAIRS
            for counted in _COUNTED
            if _number(headers.get(prefix + remaining.format(counted), "")) == 0
        ]
        yield max(filter(None, resets), default=None)
    yield _from_details(details.get("details"))
    for level in (details, details.get("metadata")):
        if isinstance(level, Mapping):
            yield from (_from_header(str(level.get(name) or "")) for name in _SECONDS)
    match = _IN_MESSAGE.search(message)
    yield _duration(match[1].strip()) if match else None


def _headers_in(details: Mapping[str, Any]) -> Mapping[str, str]:
    """Headers that OpenRouter repeats in an error object."""
    metadata = details.get("metadata")
    headers = metadata.get("headers") if isinstance(metadata, dict) else None
    items = headers.items() if isinstance(headers, dict) else ()
    return {name.lower(): str(value) for name, value in items}


def _from_header(value: str) -> float | None:
    """Seconds, a time as a number, a duration such as `1m26.4s`, or a date."""
    if not value:
        return None
    seconds = _number(_FIRST.split(value)[0])
    if seconds is None:
        return _duration(value) if _DURATION.fullmatch(value.strip()) else _until(value)
    if seconds >= _EPOCH_MILLISECONDS and seconds < 10 * _EPOCH_MILLISECONDS:
        return seconds / 1_000 - time.time()
    return seconds - time.time() if _EPOCH_SECONDS <= seconds < 10 * _EPOCH_SECONDS else seconds


def _number(value: str) -> float | None:
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _duration(text: str) -> float | None:
    parts = _PARTS.findall(text.lower())
    return sum(float(number) * _UNITS[unit] for number, unit in parts) if parts else None


def _until(date: str) -> float | None:
    for parse in (parsedate_to_datetime, datetime.fromisoformat):
        try:
            return parse(date).timestamp() - time.time()
        except (ValueError, OverflowError):
            continue
    return None


def _from_details(details: Any) -> float | None:
    for detail in details if isinstance(details, list) else ():
        if isinstance(detail, dict) and detail.get("@type") == _RETRY_INFO:
            return _duration(str(detail.get("retryDelay", "")))
    return None

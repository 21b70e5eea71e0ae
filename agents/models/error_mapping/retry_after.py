"""When a provider wants to be called again."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterator, Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any

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
    for each in details if isinstance(details, list) else ():
        if isinstance(each, dict) and each.get("@type") == _RETRY_INFO:
            return _duration(str(each.get("retryDelay", "")))
    return None

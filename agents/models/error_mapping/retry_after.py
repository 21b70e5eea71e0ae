"""When a provider wants to be called again."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

_DURATION = re.compile(r"(\d{1,12}(?:\.\d{1,12})?)s")
_RETRY_INFO = "type.googleapis.com/google.rpc.RetryInfo"
LONGEST_SECONDS = 86_400.0
"""A longer wait counts as a day: limits of providers are per day or shorter."""


def retry_after_seconds(headers: Mapping[str, str], details: Mapping[str, Any]) -> float | None:
    """Seconds from now, at most `LONGEST_SECONDS`; None if the provider did not say.

    From the header `Retry-After` (seconds or a date, RFC 9110 section 10.2.3), as Groq sends it, or
    from a `RetryInfo` in the error's details, as Gemini sends it.
    """
    header = headers.get("retry-after")
    seconds = _from_header(header) if header else _from_details(details.get("details"))
    return None if seconds is None else min(seconds, LONGEST_SECONDS)


def _from_header(value: str) -> float | None:
    try:
        seconds = float(value)
    except ValueError:
        return _until(value)
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _until(date: str) -> float | None:
    try:
        return max(0.0, parsedate_to_datetime(date).timestamp() - time.time())
    except (ValueError, OverflowError):
        return None


def _from_details(details: Any) -> float | None:
    for each in details if isinstance(details, list) else ():
        if isinstance(each, dict) and each.get("@type") == _RETRY_INFO:
            match = _DURATION.fullmatch(str(each.get("retryDelay", "")))
            return float(match[1]) if match else None
    return None

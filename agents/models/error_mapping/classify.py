"""Maps any exception of a provider's client to Fettle's own errors.

It looks at what exceptions carry (an HTTP status, a cause) and not at their classes, so that no
provider's library has to be imported.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import httpx

from agents.models.error_mapping.from_status import error_from_status
from agents.models.errors import ModelError, ModelUnavailable, with_causes

_MESSAGE_CHARACTERS = 500
_AWAY = (httpx.TransportError, TimeoutError, ConnectionError)
_UNREADABLE = (json.JSONDecodeError, httpx.DecodingError)


def classify(error: BaseException) -> ModelError | None:
    """The error for `error`, or None if it is not about a model (a bug, for example)."""
    chain = tuple(with_causes(error))
    for each in chain:
        if isinstance(each, ModelError):
            return each
    for each in chain:
        status = _status(each)
        if status is not None:
            return _by_status(status, each)
    for each in chain:
        if isinstance(each, _AWAY):
            return ModelUnavailable(_message(each))
        if isinstance(each, _UNREADABLE):
            return ModelUnavailable(f"unreadable reply: {_message(each)}")
    return None


def _status(error: BaseException) -> int | None:
    """groq's errors have `status_code`, google-genai's `code`."""
    for name in ("status_code", "code"):
        value = getattr(error, name, None)
        if isinstance(value, int):
            return value
    return None


def _by_status(status: int, error: BaseException) -> ModelError:
    headers = getattr(getattr(error, "response", None), "headers", {})
    return error_from_status(status, _message(error), _details(error), headers)


def _details(error: BaseException) -> Mapping[str, Any]:
    """The error object of the provider's reply; groq keeps it in `body`, google in `details`."""
    for name in ("body", "details"):
        body = getattr(error, name, None)
        if isinstance(body, dict):
            inner = body.get("error", body)
            return inner if isinstance(inner, dict) else {}
    return {}


def _message(error: BaseException) -> str:
    text = str(error) or type(error).__name__
    return text if len(text) <= _MESSAGE_CHARACTERS else text[:_MESSAGE_CHARACTERS] + " ..."

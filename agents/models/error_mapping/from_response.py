"""Maps a provider's HTTP response that is no reply to Fettle's errors."""

from __future__ import annotations

import json

import httpx

from agents.models.error_mapping.from_status import error_from_status
from agents.models.errors import ModelError, ModelUnavailable

_SHOWN_CHARACTERS = 120


def error_from_response(body: bytes, response: httpx.Response) -> ModelError:
    """The error for an error status. The clients' own errors differ in what they keep."""
    try:
        reason = json.loads(body)
    except (ValueError, RecursionError):
        reason = None
    reason = reason[0] if isinstance(reason, list) and reason else reason
    error = reason.get("error", reason) if isinstance(reason, dict) else None
    details = error if isinstance(error, dict) else {}
    text = details.get("message") or error or response.text[:_SHOWN_CHARACTERS].strip()
    message = str(text or response.reason_phrase)
    return error_from_status(response.status_code, message, details, response.headers)


def unreadable(kind: str, text: str) -> ModelUnavailable:
    """The error for a body that is not a reply. `kind` is its content type."""
    shown = text[:_SHOWN_CHARACTERS]
    return ModelUnavailable(f"unreadable reply ({kind}): {shown!r}", status=200)

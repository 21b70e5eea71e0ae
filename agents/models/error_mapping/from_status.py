"""Maps a provider's status and error object to Fettle's errors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from agents.errors import (
    ContextExceeded,
    ErrorKind,
    ModelError,
    ModelRefused,
    ModelUnavailable,
    ReplyUnusable,
)
from agents.models.error_mapping.error_body import ErrorBody, read_error
from agents.models.error_mapping.kind_of import kind_of, status_of
from agents.models.error_mapping.retry_after import retry_after_seconds
from agents.surrogates import replace_surrogates

_UNAVAILABLE: Final = frozenset({ErrorKind.RATE, ErrorKind.QUOTA, ErrorKind.OVERLOADED})
_DAY_WAIT_SECONDS = 3_600.0
_SHORTEST_DAY_WAIT_SECONDS = 60.0
"""A shorter wait does not bring back a quota of a day, although Gemini asks for it."""


def error_of(
    http_status: int, body: ErrorBody, details: Mapping[str, Any], headers: Mapping[str, str]
) -> ModelError:
    """The error for a body that was read, which came with `http_status`."""
    message = replace_surrogates(body.sentence)
    if details.get("code") == "tool_use_failed" or "failed_generation" in details:
        text = replace_surrogates(str(details.get("failed_generation") or ""))
        return ReplyUnusable(f"has a tool call that is not valid: {message}", text=text)
    status = status_of(http_status, body)
    kind = kind_of(status, body)
    if kind in (ErrorKind.TOO_LONG, ErrorKind.TOO_LARGE):
        return ContextExceeded(message, status=status, kind=kind, details=details)
    if kind not in _UNAVAILABLE:
        return ModelRefused(message, status=status, kind=kind, details=details)
    wait = retry_after_seconds(headers, details, message)
    if kind is ErrorKind.QUOTA and (wait or 0.0) < _SHORTEST_DAY_WAIT_SECONDS:
        wait = _DAY_WAIT_SECONDS
    return ModelUnavailable(message, status=status, kind=kind, retry_after_seconds=wait)


def error_in_reply(error: Any) -> ModelError:
    """The error for an error that came in place of a reply, or within it, with status 200."""
    body = read_error(error)
    if isinstance(error, Mapping):
        return error_of(500, body._replace(sentence=body.sentence or str(error)), error, {})
    result = error_of(200, body._replace(sentence=body.sentence or str(error)), {}, {})
    if isinstance(result, ModelUnavailable) and result.status == 200:
        result.args = (f"the reply broke off: {result}",)
    return result

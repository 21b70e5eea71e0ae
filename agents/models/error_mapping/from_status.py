"""Maps a provider's status and error object to Fettle's errors."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from agents.models.error_mapping.retry_after import retry_after_seconds
from agents.models.errors import (
    ContextExceeded,
    ModelError,
    ModelRefused,
    ModelUnavailable,
    ReplyUnusable,
)
from agents.models.replies.surrogates import replace_surrogates

# 498 is Groq's own: no capacity in the flex tier.
# https://console.groq.com/docs/errors
_FOR_NOW = frozenset({408, 409, 425, 429, 498})
# OpenAI's code for an empty account, sent with status 429: a retry does not help.
_NO_MONEY = "insufficient_quota"
# OpenAI, Groq, DeepSeek, OpenRouter and vLLM write "context length", llama.cpp "context size",
# Anthropic "prompt is too long" or "context limit", Gemini "input token count".
_TOO_LONG = re.compile(
    r"context[ _](length|size|window|limit)|prompt is too long|input token count", re.IGNORECASE
)
# An error within a reply has a type in place of a status.
# https://docs.anthropic.com/en/api/errors
_STATUS_OF = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
}


def error_from_status(
    status: int, message: str, details: Mapping[str, Any], headers: Mapping[str, str]
) -> ModelError:
    """The error for a response with this status.

    `details` is the error object of its body, if there is one.
    """
    message = replace_surrogates(message)
    if details.get("code") == "tool_use_failed":
        text = replace_surrogates(str(details.get("failed_generation") or ""))
        return ReplyUnusable(f"has a tool call that is not valid: {message}", text=text)
    if _NO_MONEY in (details.get("code"), details.get("type")):
        return ModelRefused(message, status=402)
    if status in _FOR_NOW or not 400 <= status < 500:  # below 400: an unreadable reply
        wait = retry_after_seconds(headers, details)
        return ModelUnavailable(message, status=status, retry_after_seconds=wait)
    if status == 413 or (status == 400 and _TOO_LONG.search(f"{details.get('code')} {message}")):
        return ContextExceeded(message, status=status, details=details)
    return ModelRefused(message, status=status, details=details)


def error_in_reply(error: Any) -> ModelError:
    """The error for an error object that came in place of a reply, with status 200."""
    if not isinstance(error, Mapping):
        return ModelUnavailable(f"the reply broke off: {error}", status=200)
    code = error.get("code", error.get("status_code"))
    status = code if isinstance(code, int) else _STATUS_OF.get(str(error.get("type")), 500)
    return error_from_status(status, str(error.get("message") or error), error, {})

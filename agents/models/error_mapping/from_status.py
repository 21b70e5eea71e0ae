"""What a provider's status and words mean for us."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from agents.models.error_mapping.overlong import limits_in
from agents.models.error_mapping.retry_after import retry_after_seconds
from agents.models.errors import (
    ContextExceeded,
    ModelError,
    ModelRefused,
    ModelUnavailable,
    ReplyMalformed,
)
from agents.models.replies.surrogates import replace_surrogates

# 498 is Groq's own: no capacity in the flex tier.
# https://console.groq.com/docs/errors
_FOR_NOW = frozenset({408, 409, 425, 429, 498})
# OpenAI's word for an empty account, sent with status 429: waiting does not fill it.
_NO_MONEY = "insufficient_quota"
# OpenAI, Groq, DeepSeek, OpenRouter and vLLM speak of the context's length, llama.cpp of its size,
# Anthropic of a prompt that is too long or of the context's limit, Gemini of the input token count.
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
    """The error that a response with this status stands for.

    `details` is the error object of its body, as far as there is one.
    """
    message = replace_surrogates(message)
    if details.get("code") == "tool_use_failed":
        return ReplyMalformed(
            message, said=replace_surrogates(str(details.get("failed_generation", "")))
        )
    if _NO_MONEY in (details.get("code"), details.get("type")):
        return ModelRefused(message, status=402)
    if status in _FOR_NOW or not 400 <= status < 500:  # below: a reply that could not be read
        wait = retry_after_seconds(headers, details)
        return ModelUnavailable(message, status=status, retry_after_seconds=wait)
    if status == 413 or (status == 400 and _TOO_LONG.search(f"{details.get('code')} {message}")):
        limit, used = limits_in(message, details)
        return ContextExceeded(message, status=status, limit=limit, used=used)
    return ModelRefused(message, status=status)


def error_in_reply(error: Any) -> ModelError:
    """What an error means that came where a reply was to come, under status 200."""
    if not isinstance(error, Mapping):
        return ModelUnavailable(f"the reply broke off: {error}", status=200)
    code = error.get("code", error.get("status_code"))
    status = code if isinstance(code, int) else _STATUS_OF.get(str(error.get("type")), 500)
    return error_from_status(status, str(error.get("message") or error), error, {})

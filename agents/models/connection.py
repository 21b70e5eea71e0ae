"""The HTTP client through which providers are reached."""

from __future__ import annotations

import ssl
from typing import Any

import httpx

from agents.models.errors import ModelRefused, ModelUnavailable
from agents.models.lanes import Lanes

_SHOWN_CHARACTERS = 120
# A proxy that the environment names has the same or a narrower pattern, stands before this one and
# so is still used.
_ANYWHERE = "all://*"
# For such a proxy: a call must wait for its provider, never for a free connection.
_LIMITS = httpx.Limits(max_connections=1_000, max_keepalive_connections=1_000)


def connect(tls: ssl.SSLContext) -> httpx.AsyncClient:
    """A client whose status-200 bodies are replies, or ModelUnavailable.

    Without this check a proxy's HTML page is an AttributeError in groq's client and an empty
    answer, counted as success, in google-genai's.
    """
    return httpx.AsyncClient(
        verify=tls,
        limits=_LIMITS,
        mounts={_ANYWHERE: Lanes(tls)},
        event_hooks={"response": [_check]},
    )


async def _check(response: httpx.Response) -> None:
    content_type = response.headers.get("content-type", "")
    if response.status_code != httpx.codes.OK or content_type.startswith("text/event-stream"):
        return
    await response.aread()
    try:
        body = response.json()
    except ValueError:
        body = None
    if not _is_reply(body):
        shown = response.text[:_SHOWN_CHARACTERS]
        raise ModelUnavailable(f"unreadable reply ({content_type}): {shown!r}", status=200)


def _is_reply(body: Any) -> bool:
    """OpenAI's wire has choices, Gemini's candidates, or why the prompt got none."""
    if not isinstance(body, dict):
        return False
    if body.get("choices") or body.get("candidates"):
        return True
    blocked = (body.get("promptFeedback") or {}).get("blockReason")
    if blocked:
        raise ModelRefused(f"the provider blocked the prompt: {blocked}", status=200)
    return False

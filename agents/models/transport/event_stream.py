"""The JSON objects of a streamed reply: of server-sent events, or one a line."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx

from agents.models.error_mapping.from_response import unreadable


async def json_events(response: httpx.Response) -> AsyncIterator[dict[str, Any]]:
    """Yield the events of a stream. Raises ModelUnavailable for an event that is not JSON.

    Lines end at line feeds only: JSON may contain other characters that Python's `splitlines`, and
    so httpx' `aiter_lines`, takes for an end of a line.
    """
    rest = b""
    async for chunk in response.aiter_bytes():
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if event := _event(line):
                yield event
    if event := _event(rest):
        yield event


def _event(line: bytes) -> dict[str, Any] | None:
    """The object in a line; None for anything else: comments, names, blank lines, the end."""
    data = line.removeprefix(b"data:").strip()
    if not data.startswith(b"{"):
        return None
    try:
        event = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise unreadable("a stream", data.decode(errors="replace")) from error
    return event if isinstance(event, dict) else None

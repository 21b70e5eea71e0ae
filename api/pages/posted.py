"""The body of a posted form, which the check of its token and the view both read."""

from __future__ import annotations

import asyncio
from urllib.parse import parse_qs

from fastapi import Request

from api import problems
from api.http.body import bounded
from api.problems import Refused
from settings.api import ApiSettings

MOST_FIELDS = 100
ENCODED = 3
"""URL encoding makes a text at most so many times longer."""


async def posted(request: Request, settings: ApiSettings) -> dict[str, list[str]]:
    """The fields of a form with all their values. Raises Refused: 400, 408, 413."""
    if not hasattr(request.state, "posted"):
        raw = await bounded(request, ENCODED * settings.max_body_bytes, settings.body_seconds)
        request.state.posted = await _read(raw.decode(errors="replace"))
    found: dict[str, list[str]] = request.state.posted
    return found


async def _read(text: str) -> dict[str, list[str]]:
    """In a thread: decoding a text with every character encoded takes a second."""
    try:
        return await asyncio.to_thread(
            parse_qs, text, keep_blank_values=True, max_num_fields=MOST_FIELDS
        )
    except ValueError:
        detail = f"the form has more than {MOST_FIELDS} fields"
        raise Refused(problems.BAD_REQUEST, detail) from None

"""A list that its page reads again and again: it is sent only if it has changed."""

from __future__ import annotations

import asyncio
import hashlib
from typing import Any

from fastapi import Response

from api.pages.rendering import HEADERS, render_template


async def render_polled(template: str, mark: str, **values: Any) -> dict[str, str]:
    """The list as HTML (`body`), and MARK-DIGEST (`known`), which the page sends at its next poll.

    `mark` identifies the state of the data from which the list was made. The digest covers the list
    and `waiting_total`, which the page's title shows."""
    body = await asyncio.to_thread(lambda: render_template(template, **values))
    digest = hashlib.sha256(f"{values['waiting_total']} {body}".encode()).hexdigest()[:16]
    return {"body": body, "known": f"{mark}-{digest}"}


def unchanged(known: str | None = None) -> Response:
    """The answer if the page has this list already; `known` has a newer mark."""
    headers = {**HEADERS, "X-Known": known} if known else HEADERS
    return Response(status_code=204, headers=headers)

"""Groq's chat completions without the transformation that its client applies to each body."""

from __future__ import annotations

from typing import Any

import httpx
from groq import AsyncGroq

_PATH = "/openai/v1/chat/completions"


class Completions:
    """Replaces the client's own `chat.completions` in LangChain's model.

    That one checks each value of a request for keys to rename, of which this endpoint has none
    (groq 0.37, `_utils/_transform.py`): a fifth of the worker's CPU for a short job, and 0.3 s per
    call, with the event loop blocked, for a job with 400 tool calls. The client's `post` is its own
    way for endpoints that it does not know.
    """

    def __init__(self, client: AsyncGroq) -> None:
        self._client = client

    async def create(self, **body: Any) -> Any:
        """The reply's JSON. Raises the errors of `ProviderClient.send`."""
        return await self._client.post(_PATH, body=body, cast_to=object)


def completions(api_key: str, base_url: str, http: httpx.AsyncClient) -> Completions:
    """Over these connections, without retries and time limits."""
    client = AsyncGroq(
        api_key=api_key, base_url=base_url, max_retries=0, timeout=None, http_client=http
    )
    return Completions(client)

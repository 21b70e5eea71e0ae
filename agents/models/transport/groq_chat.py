"""Groq's chat completions, asked for without the walk that its client takes through each body."""

from __future__ import annotations

from typing import Any

import httpx
from groq import AsyncGroq

_PATH = "/openai/v1/chat/completions"


class Completions:
    """Stands where LangChain expects the client's own `chat.completions`.

    That one looks at each value of a request for names to be spelled otherwise, of which this
    endpoint has none (groq 0.37, `_utils/_transform.py`): a fifth of what a short job costs a
    worker, 0.3 s for each call of a job with 400 tool calls behind it, and the loop stands still
    meanwhile. The way past it is the client's own, for endpoints that it does not know.
    """

    def __init__(self, client: AsyncGroq) -> None:
        self._client = client

    async def create(self, **body: Any) -> Any:
        """The reply's JSON; raises what the client raises. It is streamed, see `wires.wire`."""
        return await self._client.post(_PATH, body={**body, "stream": True}, cast_to=object)


def completions(api_key: str, base_url: str, http: httpx.AsyncClient) -> Completions:
    """Through these connections; tries once, for as long as it is let."""
    client = AsyncGroq(
        api_key=api_key, base_url=base_url, max_retries=0, timeout=None, http_client=http
    )
    return Completions(client)

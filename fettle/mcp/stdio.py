"""The server over stdin and stdout, with one key."""

from __future__ import annotations

import asyncio
import logging
import signal
from contextlib import nullcontext

from fettle import AsyncClient
from fettle.mcp.server import make_server


def run(url: str | None, api_key: str | None) -> None:
    """Serve until stdin is closed. Only the protocol writes to stdout; logs go to stderr. Raises
    BadSettings. `url` and `api_key` as in `AsyncClient`."""
    logging.basicConfig(level=logging.WARNING)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a thread that reads stdin cannot be cancelled
    asyncio.run(_serve(url, api_key))


async def _serve(url: str | None, api_key: str | None) -> None:
    async with AsyncClient(url, api_key) as client:
        await make_server(lambda _request: nullcontext(client)).run_stdio_async()

"""Server: uvicorn with limited connections. It logs its real address, and ends event streams when
it stops."""

from __future__ import annotations

import functools
import socket
from typing import cast

import structlog
import uvicorn
from fastapi import FastAPI

from api.http.connections import Connection, OpenAddresses
from settings.api import ApiSettings

log = structlog.get_logger(__name__)


class Server(uvicorn.Server):
    """The server of one application in one process."""

    def __init__(self, app: FastAPI, settings: ApiSettings) -> None:
        self._app = app
        connection = functools.partial(
            Connection,
            addresses=OpenAddresses(settings.connections_per_address),
            head_seconds=settings.head_seconds,
        )
        super().__init__(
            uvicorn.Config(
                app,
                host=settings.host,
                port=settings.port,
                http=cast("type[Connection]", connection),
                ws="none",  # no route uses websockets, which would need limits of their own
                log_config=None,
                access_log=False,
                server_header=False,
                # a list, or uvicorn would read a variable of its own
                proxy_headers=bool(settings.forwarded_allow_ips),
                forwarded_allow_ips=list(settings.forwarded_allow_ips),
                timeout_graceful_shutdown=settings.shutdown_seconds,
            )
        )

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """See uvicorn; then log the address."""
        await super().startup(sockets)
        for server in self.servers if self.started else ():
            for listening in server.sockets:
                host, port = listening.getsockname()[:2]
                name = f"[{host}]" if ":" in host else host
                log.info("listening", url=f"http://{name}:{port}")

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """See uvicorn, which waits for open responses: end the streams first."""
        self._app.state.services.closing.set()
        await super().shutdown(sockets)

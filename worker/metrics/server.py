"""The port of a worker: `/metrics`, `/healthz` and `/readyz`, without a key.

It has threads of its own: a worker whose event loop hangs can still answer.

Why: docs/decisions/0037-figures-of-a-worker.md
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import Any

import structlog
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from worker.metrics.figures import Figures
from worker.metrics.health import Health

TEXT = "text/plain; charset=utf-8"

log = structlog.get_logger("worker.metrics")


@contextlib.contextmanager
def served(host: str, port: int, figures: Figures, health: Health) -> Iterator[int]:
    """Serve for the length of the block; the port, which for 0 is a free one. Raises OSError."""
    try:
        server = _Server((host, port), _handler(figures, health))
    except OSError as error:
        said = f"FETTLE_WORKER_METRICS_PORT: {host}:{port} cannot be used: {error.strerror}"
        raise OSError(error.errno, said) from error
    thread = threading.Thread(target=server.serve_forever, name="metrics", daemon=True)
    thread.start()
    log.info("metrics served", host=host, port=server.server_address[1])
    try:
        yield int(server.server_address[1])
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    server_bind = TCPServer.server_bind  # HTTPServer's asks the network for its own name

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is not logged."""


def _handler(figures: Figures, health: Health) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = 5
        """Seconds after which a silent client is disconnected."""

        def do_GET(self) -> None:
            match self.path.partition("?")[0]:
                case "/metrics":
                    self._send(200, CONTENT_TYPE_LATEST, generate_latest(figures.registry))
                case "/healthz":
                    self._judge("alive", health.not_alive())
                case "/readyz":
                    self._judge("ready", health.not_ready())
                case _:
                    self._send(404, TEXT, b"/metrics, /healthz, /readyz\n")

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name there
            """Scrapes and probes are not logged."""

        def _judge(self, well: str, why_not: str) -> None:
            self._send(503 if why_not else 200, TEXT, f"{why_not or well}\n".encode())

        def _send(self, status: int, media_type: str, body: bytes) -> None:
            self.send_response(HTTPStatus(status))
            self.send_header("Content-Type", media_type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    return Handler

"""Health of a worker, and the port with `/metrics`, `/healthz` and `/readyz`, without a key.

The port has threads of its own: a worker with a hanging event loop can still answer.

See ADR 37.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import Any

import structlog
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from worker.metrics import WorkerFigures

LOOK_SECONDS = 0.5

Clock = Callable[[], float]


class WorkerHealth:
    """Whether the worker is alive and ready. The engine sets `sandbox`, `storage` and `model` to
    functions that return `Readiness.facts`; before that they are None. `storage()` first tries the
    storage, if the last try is more than a few seconds old."""

    def __init__(
        self,
        *,
        stuck_seconds: float,
        seen_seconds: float,
        draining: Callable[[], bool],
        clock: Clock = time.monotonic,
    ) -> None:
        self._stuck_seconds = stuck_seconds
        self._seen_seconds = seen_seconds
        self._draining = draining
        self._clock = clock
        self._looped = clock()
        self._beat: float | None = None
        self.sandbox: Callable[[], Mapping[str, Any]] | None = None
        self.storage: Callable[[], Mapping[str, Any]] | None = None
        self.model: Callable[[], Mapping[str, Any]] | None = None

    def record_heartbeat(self) -> None:
        """A heartbeat was answered by Redis."""
        self._beat = self._clock()

    def record_loop(self) -> None:
        """The event loop has run."""
        self._looped = self._clock()

    @property
    def beat_age(self) -> float:
        """Seconds since Redis has answered a heartbeat; infinite before the first answer."""
        return float("inf") if self._beat is None else self._clock() - self._beat

    def sandbox_works(self) -> bool:
        """Whether the sandbox worked when it was tried last."""
        return self.sandbox is not None and bool(self.sandbox()["works"])

    def storage_works(self) -> bool:
        """Whether the storage works, tried now."""
        return self.storage is not None and bool(self.storage()["works"])

    def not_alive(self) -> str:
        """The reason to restart this process; empty if it is alive."""
        silent = self._clock() - self._looped
        if silent > self._stuck_seconds:
            return f"the event loop has not answered for {silent:.0f} s"
        return ""

    def not_ready(self) -> str:
        """The reason that the worker takes no jobs; empty if it takes jobs."""
        if reason := self.not_alive():
            return reason
        if self._draining():
            return "the worker is stopping"
        if self.sandbox is None or self._beat is None:
            return "the worker is starting"
        if self.beat_age > self._seen_seconds:
            return f"Redis has not answered a heartbeat for {self.beat_age:.0f} s"
        parts = {"sandbox": self.sandbox, "storage": self.storage, "default model": self.model}
        for name, facts_of in parts.items():
            if facts_of is not None and not (facts := facts_of())["works"]:
                return f"the {name} cannot work: {facts['why']}"
        return ""

    @contextlib.asynccontextmanager
    async def watch_loop(self, figures: WorkerFigures) -> AsyncIterator[None]:
        """Measure how late the loop is, for the length of the block, and export the metrics."""
        figures.watch(
            "fettle_worker_heartbeat_age_seconds",
            "Since Redis has taken a heartbeat",
            lambda: self.beat_age,
        )
        figures.watch("fettle_worker_sandbox_up", "Whether its sandbox works", self.sandbox_works)
        figures.watch("fettle_worker_storage_up", "Whether its storage works", self.storage_works)
        watching = asyncio.create_task(self._watch(figures))
        try:
            yield
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)

    async def _watch(self, figures: WorkerFigures) -> None:
        while True:
            due = time.monotonic() + LOOK_SECONDS
            await asyncio.sleep(LOOK_SECONDS)
            figures.loop_lag.observe(max(time.monotonic() - due, 0.0))
            self.record_loop()


TEXT = "text/plain; charset=utf-8"

log = structlog.get_logger("worker.metrics")


@contextlib.contextmanager
def serve_health(
    host: str, port: int, figures: WorkerFigures, health: WorkerHealth
) -> Iterator[int]:
    """Serve for the length of the block; gives the port. If `port` is 0, it is a free port. Raises
    OSError."""
    try:
        server = _Server((host, port), _handler(figures, health))
    except OSError as error:
        message = f"FETTLE_WORKER_METRICS_PORT: {host}:{port} cannot be used: {error.strerror}"
        raise OSError(error.errno, message) from error
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


def _handler(figures: WorkerFigures, health: WorkerHealth) -> type[BaseHTTPRequestHandler]:
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

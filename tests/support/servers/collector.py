"""A service on loopback that collects traces, and an environment that makes libraries send them."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

NOWHERE = "redis://127.0.0.1:1/0"
"""No server listens there."""


@dataclass(frozen=True)
class Collector:
    """`received` has the first line of each request."""

    url: str
    received: list[str] = field(default_factory=list)

    def environment(self) -> dict[str, str]:
        """Variables that make libraries send data of a job to this server, or that replace Fettle's
        broker and log levels.
        """
        return {
            "LANGSMITH_TRACING": "true",
            "LANGCHAIN_TRACING_V2": "true",
            "LANGSMITH_ENDPOINT": self.url,
            "LANGCHAIN_ENDPOINT": self.url,
            "LANGSMITH_API_KEY": "of-a-test",
            "OTEL_EXPORTER_OTLP_ENDPOINT": self.url,
            "GROQ_LOG": "debug",
            "GROQ_PROXY": "",
            "CELERY_BROKER_URL": NOWHERE,
            "CELERY_BROKER_READ_URL": NOWHERE,
            "CELERY_BROKER_WRITE_URL": NOWHERE,
            "CELERY_CONFIG_MODULE": "a_module_that_does_not_exist",
            "CELERY_LOADER": "a_module_that_does_not_exist:Loader",
            "FLOWER_PORT": "1",
            "PYTHONUNBUFFERED": "1",  # makes tests start an interpreter that has loaded no library
        }


@contextlib.contextmanager
def collector() -> Iterator[Collector]:
    """A service that collects until the block ends."""
    received: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def handle_one_request(self) -> None:
            super().handle_one_request()
            if self.requestline:
                received.append(self.requestline)

        def log_message(self, *_: object) -> None:
            """Logs no line: tests look at `received`."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield Collector(f"http://127.0.0.1:{server.server_port}", received)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

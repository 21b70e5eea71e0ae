"""A web server on loopback that sends a test's answers and records the requested paths."""

from __future__ import annotations

import contextlib
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Answer:
    """An answer; `pause` delays each KiB of the body, in seconds."""

    body: bytes = b""
    kind: str = "text/html; charset=utf-8"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    pause: threading.Event | None = None


@dataclass
class WebServer:
    """`answers` by path; an answer may be a function of the request's headers."""

    port: int
    answers: dict[str, Answer | Callable[[Mapping[str, str]], Answer]]
    requested_paths: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"


@contextlib.contextmanager
def listening(
    handler: type[BaseHTTPRequestHandler], tls: ssl.SSLContext | None = None
) -> Iterator[int]:
    """Run a server with these handlers until the block ends; yields its port."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextlib.contextmanager
def web_server(tls: ssl.SSLContext | None = None) -> Iterator[WebServer]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            server.requested_paths.append(self.path)
            server.headers.append({name.lower(): value for name, value in self.headers.items()})
            answer = server.answers.get(self.path, Answer(status=404))
            if callable(answer):
                answer = answer(server.headers[-1])
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.kind)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.end_headers()
            if answer.pause is not None:
                answer.pause.wait(20)
            with contextlib.suppress(OSError):
                self.wfile.write(answer.body)

        def log_message(self, *_: object) -> None:
            """Writes no log."""

    server = WebServer(0, {})
    with listening(Handler, tls) as server.port:
        yield server

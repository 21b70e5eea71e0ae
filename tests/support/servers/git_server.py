"""A git server on loopback: `git http-backend` behind a small HTTP server, as forges have."""

from __future__ import annotations

import base64
import contextlib
import gzip
import json
import os
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

from support.servers.web_server import listening

Api = Callable[[str, str, Mapping[str, str], bytes], tuple[int, Any, Mapping[str, str]]]
"""A function of method, path with query, headers and body, which returns status, JSON and headers.
"""


@dataclass
class GitServer:
    """Serves the repositories below `root`, by their folders.

    `credential` is the `USER:TOKEN` that the server requires. `status` is the answer to each
    request, `redirect` sends each request to another address, and `moved` maps the beginning of a
    path to another path. `pause` delays the packs, and `packing` is set when a client requests a
    pack. `requests` are methods and paths. `pushing` is called for each request of a push with the
    method and the moment, `before` or `after` git has handled the request; if it returns a status,
    the server answers with this status. `pushed` counts the bytes of these requests. `sent` changes
    answers that have a pack. `api` answers the paths below `/api`.
    """

    root: Path
    port: int = 0
    tls: bool = False
    credential: str | None = None
    status: int | None = None
    redirect: str | None = None
    moved: dict[str, str] = field(default_factory=dict)
    pause: threading.Event | None = None
    packing: threading.Event = field(default_factory=threading.Event)
    pushing: Callable[[str, str], int | None] = lambda _method, _moment: None
    pushed: int = 0
    sent: Callable[[bytes], bytes] = lambda answer: answer
    api: Api | None = None
    requests: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    @property
    def authority(self) -> str:
        return f"{'localhost' if self.tls else '127.0.0.1'}:{self.port}"

    @property
    def listed(self) -> str:
        """The line for this host in an operator's list."""
        return self.authority if self.tls else f"http://{self.authority}"

    def url(self, name: str) -> str:
        return f"{'https' if self.tls else 'http'}://{self.authority}/{name}"


@contextlib.contextmanager
def git_server(root: Path, tls: ssl.SSLContext | None = None) -> Iterator[GitServer]:
    """A server of the repositories below `root`."""
    server = GitServer(root, tls=tls is not None)

    with listening(type("Handler", (_Handler,), {"git_server": server}), tls) as server.port:
        yield server


class _Handler(BaseHTTPRequestHandler):
    git_server: GitServer

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def _of_api(self, api: Api, body: bytes) -> None:
        headers = {name.lower(): value for name, value in self.headers.items()}
        status, content, more = api(self.command, self.path, headers, body)
        sent = json.dumps(content).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", **more}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(sent)

    def _pushing(self, moment: str) -> int | None:
        pushes = "git-receive-pack" in self.path
        return self.git_server.pushing(self.command, moment) if pushes else None

    def _answer(self) -> None:
        body = self._body()
        self.git_server.requests.append(f"{self.command} {self.path}")
        self.git_server.headers.append(
            {name.lower(): value for name, value in self.headers.items()}
        )
        if self.git_server.status is not None:
            return self._plain(self.git_server.status)
        if self.git_server.redirect is not None:
            return self._plain(301, Location=self.git_server.redirect + self.path)
        for old, new in self.git_server.moved.items():
            if self.path.startswith(old):
                return self._plain(301, Location=self.path.replace(old, new, 1))
        if self.git_server.api is not None and self.path.startswith("/api/"):
            return self._of_api(self.git_server.api, body)
        if self.git_server.credential is not None and self.headers["Authorization"] != (
            f"Basic {base64.b64encode(self.git_server.credential.encode()).decode()}"
        ):
            return self._plain(401, **{"WWW-Authenticate": 'Basic realm="git"'})
        if self.git_server.pause is not None and b"command=fetch" in body:
            self.git_server.packing.set()
            self.git_server.pause.wait(60)
        return self._by_git(body)

    def _by_git(self, body: bytes) -> None:
        if self.path.endswith("/git-receive-pack"):
            self.git_server.pushed += len(body)
        if (status := self._pushing("before")) is not None:
            return self._plain(status)
        answer = _backend(self.git_server.root, self, body)
        if b"command=fetch" in body:
            answer = self.git_server.sent(answer)
        if (status := self._pushing("after")) is not None:
            return self._plain(status)
        return self._relay(answer)

    def _body(self) -> bytes:
        if self.headers["Transfer-Encoding"] == "chunked":
            parts = []
            while size := int(self.rfile.readline(), 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            body = b"".join(parts)
        else:
            body = self.rfile.read(int(self.headers["Content-Length"] or 0))
        return gzip.decompress(body) if self.headers["Content-Encoding"] == "gzip" else body

    def _plain(self, status: int, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _relay(self, answer: bytes) -> None:
        head, _, body = answer.partition(b"\r\n\r\n")
        rows = [row.partition(": ") for row in head.decode().split("\r\n")]
        headers = {name: value for name, _, value in rows}
        self.send_response(int(headers.pop("Status", "200").split()[0]))
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Writes no log."""


def _backend(root: Path, request: BaseHTTPRequestHandler, body: bytes) -> bytes:
    path, _, query = request.path.partition("?")
    environment = {
        "PATH": os.defpath,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_PROJECT_ROOT": str(root),
        "GIT_HTTP_EXPORT_ALL": "1",
        "GIT_PROTOCOL": request.headers["Git-Protocol"] or "",
        "REQUEST_METHOD": request.command,
        "PATH_INFO": path,
        "QUERY_STRING": query,
        "CONTENT_TYPE": request.headers["Content-Type"] or "",
        "CONTENT_LENGTH": str(len(body)),
        "REMOTE_ADDR": "127.0.0.1",
        "REMOTE_USER": "me",  # without this variable, git refuses pushes
    }
    return subprocess.run(
        ["git", "http-backend"], env=environment, input=body, capture_output=True, check=False
    ).stdout

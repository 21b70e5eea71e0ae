"""A mail server on loopback that speaks SMTP with STARTTLS, and records messages."""

from __future__ import annotations

import socketserver
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from support.servers.certificates import self_signed


@dataclass
class MailBox:
    """The server as its clients used it. Clients can verify it as localhost with `certificate`."""

    certificate: Path
    port: int = 0
    has_tls: bool = True
    answers: dict[str, str] = field(default_factory=dict)
    """Other answers than success, by the verb of the command."""
    slow: float = 0.0
    """The seconds before each answer."""
    envelopes: list[tuple[str, str]] = field(default_factory=list)
    """Sender and recipient of each message, as the protocol names them."""
    messages: list[bytes] = field(default_factory=list)
    logins: list[str] = field(default_factory=list)
    plain_commands: list[str] = field(default_factory=list)
    """The verbs that arrived without TLS."""


class _Session:
    def __init__(self, request: socketserver.StreamRequestHandler, box: MailBox) -> None:
        self.request, self.box = request, box
        self.secure, self.sender, self.recipient = False, "", ""

    def run(self, context: ssl.SSLContext) -> None:
        self.answer("220 ready")
        while line := self.request.rfile.readline().decode().rstrip():
            verb = line.split(maxsplit=1)[0].upper()
            if not self.secure:
                self.box.plain_commands.append(verb)
            time.sleep(self.box.slow)
            if verb in self.box.answers:
                self.answer(self.box.answers[verb])
            elif verb == "STARTTLS":
                self.answer("220 go")
                connection = context.wrap_socket(self.request.connection, server_side=True)
                self.request.rfile = connection.makefile("rb")
                self.request.wfile = connection.makefile("wb", buffering=0)  # type: ignore[assignment]
                self.secure = True
            else:
                self.obey(verb, line)

    def obey(self, verb: str, line: str) -> None:
        match verb:
            case "EHLO":
                extra = ["STARTTLS"] if self.box.has_tls and not self.secure else ["AUTH PLAIN"]
                self.answer(f"250-localhost\r\n250 {extra[0]}")
            case "AUTH":
                self.box.logins.append(line)
                self.answer("235 welcome")
            case "MAIL":
                self.sender = line.partition("<")[2].partition(">")[0]
                self.answer("250 ok")
            case "RCPT":
                self.recipient = line.partition("<")[2].partition(">")[0]
                self.answer("250 ok")
            case "DATA":
                self.answer("354 go on")
                lines = iter(self.request.rfile.readline, b".\r\n")
                self.box.messages.append(b"".join(lines))
                self.box.envelopes.append((self.sender, self.recipient))
                self.answer("250 ok")
            case _:
                self.answer("221 bye" if verb == "QUIT" else "502 unknown")

    def answer(self, text: str) -> None:
        self.request.wfile.write(f"{text}\r\n".encode())


@contextmanager
def mail_server(folder: Path) -> Iterator[MailBox]:
    """Run the server."""
    certificate, context = self_signed(folder, "localhost")
    box = MailBox(certificate)

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            try:
                _Session(self, box).run(context)
            except OSError:
                """The client has hung up."""

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        box.port = server.server_address[1]
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield box
        server.shutdown()

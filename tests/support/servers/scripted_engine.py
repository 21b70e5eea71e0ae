"""A small scripted Docker engine without sandboxes, for events that a real engine has only by
chance.

It keeps a list of containers and implements the part of the API that `sandbox/docker` uses. A test
can stop each kind of call at a gate, before or after its effect, and can replace its answer. The
program of a container reports that it is ready, and does no work.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from email.utils import formatdate
from pathlib import Path
from typing import Any
from urllib.parse import unquote_plus

from sandbox.docker import image
from sandbox.docker.connection import STDOUT

STEPS = {
    "ping": r"GET /_ping",
    "info": r"GET .*/info",
    "image": r"GET .*/images/",
    "events": r"GET .*/events",
    "list": r"GET .*/containers/json",
    "create": r"POST .*/containers/create",
    "attach": r"POST .*/attach",
    "start": r"POST .*/start",
    "wait": r"POST .*/wait",
    "remove": r"DELETE ",
}
INFO = {"ServerVersion": "1", "Runtimes": {"runc": {}}, "SecurityOptions": ["name=seccomp"]}
TEST_SECONDS = 20.0
"""Seconds to wait for a request to the engine; a later one does not come."""
CUT = 0
"""Instead of a status: the engine closes the connection."""


@dataclass
class Gate:
    """A call waits here until the gate is `opened`. At a late gate, the call has already had its
    effect.
    """

    late: bool = False
    answer: int | None = None
    """A status that replaces the engine's own, or CUT."""
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    opened: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass
class Held:
    """A container."""

    labels: Mapping[str, str]
    created: float
    attached: asyncio.StreamWriter | None = None
    started: bool = False


@dataclass
class ScriptedEngine:
    """Its containers, its connections, and the `steps` of its requests."""

    host: str
    gates: dict[str, Gate] = field(default_factory=dict)
    containers: dict[str, Held] = field(default_factory=dict)
    steps: list[str] = field(default_factory=list)
    listeners: list[asyncio.StreamWriter] = field(default_factory=list)
    connections: int = 0
    orders: asyncio.Queue[str] = field(default_factory=asyncio.Queue)
    """The id of a container, for each command that the container receives."""
    _container_count: int = 0

    def gate(self, step: str, *, late: bool = False, answer: int | None = None) -> Gate:
        """Stop all later calls of this kind."""
        self.gates[step] = Gate(late, answer)
        return self.gates[step]

    def send_event(self, container: str, action: str, **attributes: str) -> None:
        """Send an event to all listeners. If it has no attributes, they are null, as Go writes an
        empty map.
        """
        event = {"Action": action, "Actor": {"ID": container, "Attributes": attributes or None}}
        data = json.dumps(event).encode() + b"\n"
        for writer in self.listeners:
            writer.write(b"%x\r\n%s\r\n" % (len(data), data))

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection: one request, or the streams of a container."""
        self.connections += 1
        try:
            await self._answer(reader, writer)
            if await reader.read(1):
                self.orders.put_nowait(
                    next(
                        id_
                        for id_, container in self.containers.items()
                        if container.attached is writer
                    )
                )
            await reader.read()  # until the client has disconnected
        except (OSError, EOFError):
            pass
        finally:
            self.connections -= 1
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        size = int(re.search(r"Content-Length: (\d+)", head)[1])
        body = json.loads(await reader.readexactly(size) or b"null")
        line = unquote_plus(head.partition(" HTTP/")[0])
        step = next(name for name, form in STEPS.items() if re.match(form, line))
        self.steps.append(step)
        gate = self.gates.get(step)
        act = getattr(self, f"_{step}")
        if gate is None:
            _send(writer, *act(line, body, writer))
            self._ready()
            return
        done = act(line, body, writer) if gate.late else None
        gate.reached.set()
        await gate.opened.wait()
        if gate.answer == CUT:
            writer.close()
        elif gate.answer is not None:
            _send(writer, gate.answer, {"message": "the engine has its reasons"})
        else:
            _send(writer, *(done or act(line, body, writer)))
            self._ready()

    def _ready(self) -> None:
        """Let each container that is started and attached report once that it is ready."""
        for container in self.containers.values():
            if container.started and container.attached:
                container.attached.write(bytes((STDOUT, 0, 0, 0, 0, 0, 0, 1)) + b"R")
                container.started = False

    def _ping(self, *_: Any) -> tuple[int, Any]:
        return 200, "OK"

    def _info(self, *_: Any) -> tuple[int, Any]:
        return 200, INFO

    def _image(self, *_: Any) -> tuple[int, Any]:
        return 200, {"Id": "sha256:1", "Config": {"Labels": {image.LABEL: image.digest()}}}

    def _events(self, _: str, __: Any, writer: asyncio.StreamWriter) -> tuple[int, Any]:
        self.listeners.append(writer)
        return 200, ...

    def _list(self, line: str, *_: Any) -> tuple[int, Any]:
        (label,) = json.loads(line.partition("filters=")[2])["label"]
        return 200, [
            {"Id": id_, "Labels": container.labels, "Created": container.created}
            for id_, container in self.containers.items()
            if label in container.labels
            or label in {f"{k}={v}" for k, v in container.labels.items()}
        ]

    def _create(self, _: str, body: Any, __: Any) -> tuple[int, Any]:
        self._container_count += 1
        self.containers[f"c{self._container_count}"] = Held(body["Labels"], time.time())
        return 201, {"Id": f"c{self._container_count}"}

    def _attach(self, line: str, _: Any, writer: asyncio.StreamWriter) -> tuple[int, Any]:
        return self._with(line, 101, lambda held: setattr(held, "attached", writer))

    def _start(self, line: str, *_: Any) -> tuple[int, Any]:
        return self._with(line, 204, lambda held: setattr(held, "started", True))

    def _wait(self, line: str, *_: Any) -> tuple[int, Any]:
        return self._with(line, 200, lambda _: None)

    def _remove(self, line: str, *_: Any) -> tuple[int, Any]:
        status = self._with(line, 204, lambda held: held.attached and held.attached.close())
        self.containers.pop(_id(line), None)
        return status

    def _with(self, line: str, status: int, do: Callable[[Held], Any]) -> tuple[int, Any]:
        container = self.containers.get(_id(line))
        if container is None:
            return 404, {"message": "No such container"}
        do(container)
        return status, None


def _id(line: str) -> str:
    return re.search(r"/containers/(\w+)", line)[1]


def _send(writer: asyncio.StreamWriter, status: int, body: Any) -> None:
    fields = [f"HTTP/1.1 {status} So", f"Date: {formatdate(usegmt=True)}", "Api-Version: 1.43"]
    if body is ...:
        fields, data = [*fields, "Transfer-Encoding: chunked"], b""
    elif status == 101:
        fields, data = [*fields, "Connection: Upgrade", "Upgrade: tcp"], b""
    else:
        data = b"" if status == 204 else json.dumps(body).encode()
        fields.append(f"Content-Length: {len(data)}")
    writer.write("\r\n".join((*fields, "", "")).encode() + data)


@asynccontextmanager
async def scripted(socket_path: Path | None) -> AsyncIterator[ScriptedEngine]:
    """An engine at this socket, or at a port of loopback if the path is None. All clients must have
    disconnected at its end.
    """
    engine = ScriptedEngine(f"unix://{socket_path}")
    if socket_path is None:
        server = await asyncio.start_server(engine.serve, "127.0.0.1", 0)
        engine.host = f"tcp://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    else:
        server = await asyncio.start_unix_server(engine.serve, socket_path)
    async with server, asyncio.timeout(TEST_SECONDS):
        yield engine
        for gate in engine.gates.values():
            gate.opened.set()
        async with asyncio.timeout(5):
            while engine.connections:
                await asyncio.sleep(0.005)

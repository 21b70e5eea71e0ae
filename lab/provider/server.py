"""The local provider: an HTTP server that answers model calls by a script."""

from __future__ import annotations

import asyncio
import itertools
import json
import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Self

from lab.provider import http
from lab.provider.request import Request
from lab.provider.script import Script, as_script
from lab.provider.turn import Cut, Garbled, Hang, Raw, Refusal, Reply, Turn
from lab.provider.wire import DIALECTS, understand

_START_SECONDS = 10.0
_BACKLOG = 512


class ProviderServer:
    """Serves a script on loopback from its own thread, within the `with` block.

    `script` is a list of turns, played in the order of the requests, or a function from the
    request to the turn; it runs on the server's event loop, so it must not block. `port=0` takes
    a free port. `requests` are the received ones, in order, unless `remembers` is false: long
    conversations use much memory. `lists` are the bodies of lists of models by path, which the
    server answers with GET (`/v1/models`); `listed` counts them.
    """

    def __init__(
        self,
        script: Script | Sequence[Turn],
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        remembers: bool = True,
    ) -> None:
        self._script = as_script(script)
        self._host = host
        self._port = port
        self._remembers = remembers
        self._numbers = itertools.count(1)
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, name="provider", daemon=True)
        self._loop: asyncio.AbstractEventLoop
        self._stop: asyncio.Event
        self._failure: OSError | None = None
        self.requests: list[Request] = []
        self.lists: dict[str, Any] = {}
        self.listed = 0

    @property
    def url(self) -> str:
        """The root, without a path: `http://127.0.0.1:PORT`."""
        return f"http://{self._host}:{self._port}"

    @property
    def groq_url(self) -> str:
        """The base URL for Groq's client, which adds `/openai/v1`."""
        return self.url

    @property
    def gemini_url(self) -> str:
        """The base URL for Gemini's client, which adds `/v1beta`."""
        return self.url

    @property
    def openai_url(self) -> str:
        """The base URL for OpenAI's client and compatible ones."""
        return f"{self.url}/v1"

    def base_urls(self) -> dict[str, str]:
        """The base URL of each provider, by its name in `agents.models`."""
        like_openai = ("openai", "compatible", "deepseek", "openrouter")
        hosts = ("groq", "google_genai", "vertex", "anthropic", "azure", "ollama")
        return {
            **dict.fromkeys(hosts, self.url),
            **dict.fromkeys(like_openai, self.openai_url),
            "mistral": f"{self.url}/mistral/v1",
        }

    def __enter__(self) -> Self:
        self._thread.start()
        if not self._ready.wait(_START_SECONDS):
            raise TimeoutError("the local provider did not start")
        if self._failure is not None:
            raise self._failure
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        connections: set[asyncio.Task[None]] = set()

        def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = self._loop.create_task(self._converse(reader, writer))
            connections.add(task)
            task.add_done_callback(connections.discard)

        try:
            server = await asyncio.start_server(
                connected, self._host, self._port, limit=http.MAX_HEAD_BYTES, backlog=_BACKLOG
            )
        except OSError as failure:
            self._failure = failure
            self._ready.set()
            return
        self._port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()
        for task in connections:
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection's requests until the client closes it or the script cuts it."""
        try:
            while (incoming := await http.read(reader)) is not None:
                if not await self._answer(incoming, writer):
                    break
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client has disconnected
        finally:
            writer.close()

    async def _answer(self, incoming: http.Incoming, writer: asyncio.StreamWriter) -> bool:
        """Send one response. False if the connection must be closed."""
        try:
            request = understand(incoming)
        except (ValueError, KeyError, TypeError) as error:
            await http.send(writer, 400, _json({"error": {"message": f"bad body: {error!r}"}}))
            return True
        if incoming.method == "GET" and incoming.target in self.lists:
            self.listed += 1
            await http.send(writer, 200, _json(self.lists[incoming.target]))
            return True
        if request is None:
            await http.send(writer, 404, _json({"error": {"message": "no such path"}}))
            return True
        if self._remembers:
            self.requests.append(request)
        return await self._play(self._decide(request), request, writer)

    def _decide(self, request: Request) -> Turn:
        try:
            return self._script(request)
        except Exception as error:  # noqa: BLE001 - the client gets the error
            return Refusal(400, f"the script failed: {error!r}")

    async def _play(self, turn: Turn, request: Request, writer: asyncio.StreamWriter) -> bool:
        match turn:
            case Reply():
                await self._reply(turn, request, writer)
            case Refusal():
                body = _json(DIALECTS[request.wire].refusal(turn))
                await http.send(writer, turn.status, body, headers=_retry_after(turn))
            case Garbled():
                await http.send(writer, 200, turn.body.encode(), content_type=turn.content_type)
            case Raw():
                await http.send_pieces(
                    writer,
                    turn.pieces,
                    turn.content_type,
                    status=turn.status,
                    headers=turn.headers,
                    ends=turn.ends,
                )
                return turn.ends
            case Hang(seconds, _, float() | int() as pace):
                dialect = DIALECTS[request.wire]
                signs = itertools.repeat(dialect.sign_of_life, int(seconds / pace))
                paced = _paced(signs, pace)
                await http.send_pieces(writer, paced, dialect.stream_type, ends=False)
                return False
            case Hang(seconds, after):
                if after is not None:
                    await self._half(after, request, writer)
                await asyncio.sleep(seconds)
                return False
            case Cut(reply):
                if reply is not None:
                    await self._half(reply, request, writer)
                return False
        return True

    async def _reply(self, turn: Reply, request: Request, writer: asyncio.StreamWriter) -> None:
        if turn.delay_seconds:
            await asyncio.sleep(turn.delay_seconds)
        if not request.stream:
            await http.send(writer, 200, _json(self._full_reply(turn, request)))
            return
        kind = DIALECTS[request.wire].stream_type
        events = self._events(turn, request)
        await http.send_pieces(writer, _paced(events, turn.pace_seconds), kind)

    async def _half(self, turn: Reply, request: Request, writer: asyncio.StreamWriter) -> None:
        """The first half of a reply, without an end."""
        if not request.stream:
            await http.send(writer, 200, _json(self._full_reply(turn, request)), cut=True)
            return
        events = list(self._events(turn, request))
        half = events[: len(events) // 2]
        kind = DIALECTS[request.wire].stream_type
        await http.send_pieces(writer, _paced(half, turn.pace_seconds), kind, ends=False)

    def _events(self, turn: Reply, request: Request) -> Iterator[bytes]:
        dialect = DIALECTS[request.wire]
        chunks = dialect.chunks(turn, request, next(self._numbers))
        return map(dialect.framed, chunks)

    def _full_reply(self, turn: Reply, request: Request) -> dict[str, object]:
        return DIALECTS[request.wire].reply(turn, request.model, next(self._numbers))


def _paced(events: Iterable[bytes], seconds: float) -> Iterator[bytes | float]:
    """The events, each with a pause after it."""
    for event in events:
        yield event
        if seconds:
            yield seconds


def _retry_after(turn: Refusal) -> dict[str, str]:
    return {} if turn.retry_after is None else {"retry-after": f"{turn.retry_after:g}"}


def _json(body: object) -> bytes:
    return json.dumps(body).encode()

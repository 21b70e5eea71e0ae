"""HttpServer: requests to an MCP server over streamable HTTP, each in a session of its own.

The operator names the complete address, so the host may be in an intranet. Redirects are not
followed. An answer is bounded in size and time.

See ADR 102.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, Final

import httpx

from agents.errors import ToolRefused
from agents.redaction import REMOVED
from worker.egress.transport import Head, Transport, TransportError

PROTOCOL: Final = "2025-11-25"
"""The version of the protocol that Fettle offers. A server may answer with another version."""
MAX_ANSWER_BYTES: Final = 1024 * 1024
MOST_PAGES: Final = 100
"""The pages of a list of tools that are read."""
END_SECONDS: Final = 2.0
"""The longest time to end a session. The call has its answer by then."""
CLIENT: Final = {"name": "fettle", "version": "1"}
_SESSION = "mcp-session-id"
_EVENTS = "text/event-stream"


@dataclass(frozen=True, slots=True)
class HttpServer:
    """A server at an address."""

    url: str
    token_file: Path | None = None

    async def exchange(
        self, method: str, params: Mapping[str, Any], seconds: float
    ) -> Mapping[str, Any]:
        """The result of a request. The pages of a list of tools are joined. Raises ToolRefused."""
        session = _Session(httpx.URL(self.url), seconds, await self._token())
        try:
            async with asyncio.timeout(seconds):
                return await session.run(method, params)
        except TransportError as error:
            raise ToolRefused(str(error)) from None
        except TimeoutError:
            raise ToolRefused(f"took longer than {seconds:g} s") from None
        finally:
            await session.end()

    async def _token(self) -> str:
        """The token; '' if the server wants none. It is read anew, because it may change."""
        if self.token_file is None:
            return ""
        try:
            text = await asyncio.to_thread(self.token_file.read_text, encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            raise ToolRefused("has a token_file that cannot be read") from None
        if not re.fullmatch(r"[!-~]+", token := text.strip()):
            raise ToolRefused("has a token_file that is not one line with a token")
        return token


@dataclass(slots=True)
class _Session:
    """One session with a server."""

    url: httpx.URL
    seconds: float
    token: str
    headers: dict[str, str] = field(default_factory=dict)
    ids: count[int] = field(default_factory=lambda: count(1))

    async def run(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        hello = {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": CLIENT}
        version = str((await self._request("initialize", hello)).get("protocolVersion"))
        is_version = re.fullmatch(r"[0-9A-Za-z.-]{1,40}", version)
        self.headers["MCP-Protocol-Version"] = version if is_version else PROTOCOL
        await self._post({"method": "notifications/initialized"})
        page = result = await self._request(method, params)
        for _ in range(MOST_PAGES):
            if method != "tools/list" or not (cursor := page.get("nextCursor")):
                break
            page = await self._request(method, {"cursor": cursor})
            result["tools"] += page["tools"]
        return result

    async def end(self) -> None:
        """End the session at the server, if it has begun."""
        if _SESSION in self.headers:
            self.seconds = END_SECONDS
            with contextlib.suppress(ToolRefused, TransportError):
                await self._send("DELETE", None, None)

    async def _request(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """The result of a request. Raises ToolRefused and TransportError."""
        number = next(self.ids)
        message = await self._post({"id": number, "method": method, "params": params}, number)
        if message is None:
            raise ToolRefused(f"did not answer {method}")
        if isinstance(result := message.get("result"), dict):
            return result
        error = message.get("error")
        reason = error.get("message") if isinstance(error, dict) else "an answer without a result"
        raise ToolRefused(f"refused {method}: {reason}")

    async def _post(
        self, message: Mapping[str, Any], number: int | None = None
    ) -> Mapping[str, Any] | None:
        """The answer to the message with this number; None if the server sent no answer."""
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        return await self._send("POST", body, number)

    async def _send(
        self, method: str, body: bytes | None, number: int | None
    ) -> Mapping[str, Any] | None:
        headers = {"Accept": f"application/json, {_EVENTS}", **self.headers}
        headers |= {"Content-Type": "application/json"} if body is not None else {}
        headers |= {"Authorization": f"Bearer {self.token}"} if self.token else {}
        reader = _AnswerReader(self.token, number)
        response = await Transport(self.seconds, MAX_ANSWER_BYTES, private=True).send(
            method,
            self.url,
            headers,
            body,
            check_url=lambda _: None,
            check_head=reader.check_head,
            is_complete=reader.feed,
        )
        session = response.head.headers.get(_SESSION)
        if session is not None and _SESSION not in self.headers:
            self.headers[_SESSION] = session
        if response.is_cut and reader.answer is None:
            raise ToolRefused(f"sent more than {MAX_ANSWER_BYTES} bytes")
        if not reader.has_events and number is not None:
            reader.read(response.body)
        return reader.answer


@dataclass(slots=True)
class _AnswerReader:
    """Finds the answer in a response: in JSON, or in a stream of events, which a server may leave
    open. Requests of the server within the stream are not answered: Fettle offers it nothing."""

    token: str
    """Removed from the answer."""
    number: int | None
    answer: Mapping[str, Any] | None = None
    has_events: bool = False
    _unread: bytearray = field(default_factory=bytearray)
    _data: list[bytes] = field(default_factory=list)

    def check_head(self, head: Head) -> None:
        """Raises ToolRefused for a response that is no answer."""
        if not 200 <= head.status < 300:
            raise ToolRefused(f"answered with the status {head.status}")
        self.has_events = head.headers.get("content-type", "").lower().startswith(_EVENTS)

    def feed(self, part: bytes) -> bool:
        """Read a part of a stream. Returns whether the answer has arrived."""
        if not self.has_events:
            return False
        start = len(self._unread)
        self._unread += part
        while (end := self._unread.find(b"\n", start)) >= 0 and self.answer is None:
            self._read_line(bytes(self._unread[:end]).rstrip(b"\r"))
            del self._unread[: end + 1]
            start = 0
        return self.answer is not None

    def _read_line(self, line: bytes) -> None:
        if line.startswith(b"data:"):
            self._data.append(line.removeprefix(b"data:"))
        elif not line:
            self.read(b"\n".join(self._data))
            self._data.clear()

    def read(self, content: bytes) -> None:
        """Read messages: a JSON object, or a list of objects."""
        try:
            messages = json.loads(content.decode(errors="replace"))
            if self.token:  # a server may escape its characters in another way than `dumps`
                written = json.dumps(messages, ensure_ascii=False)
                messages = json.loads(written.replace(json.dumps(self.token)[1:-1], REMOVED))
        except (ValueError, RecursionError):
            return
        for message in messages if isinstance(messages, list) else [messages]:
            is_answer = isinstance(message, dict) and "method" not in message
            if is_answer and self.number is not None and message.get("id") == self.number:
                self.answer = message

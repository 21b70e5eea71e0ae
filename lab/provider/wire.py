"""The wire format of each path, and its functions to read and write."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from lab.provider import anthropic, gemini, ollama, openai
from lab.provider.http import Incoming
from lab.provider.request import Message, Request, Wire
from lab.provider.turn import Refusal, Reply

_GEMINI_PATH = re.compile(
    r"/v1(?:beta1?)?/(?:(?:projects/[^/]+/locations/[^/]+/)?publishers/google/)?"
    r"models/(?P<model>[^/:]+):(?P<verb>generateContent|streamGenerateContent)"
)
"""The Gemini API, and Vertex AI with a project or with a key."""
_AZURE_PATH = re.compile(r"/openai/deployments/(?P<model>[^/]+)/chat/completions")
_PATHS: Mapping[str, Wire] = {
    "/openai/v1/chat/completions": "openai",
    "/v1/chat/completions": "openai",
    "/mistral/v1/chat/completions": "openai",
    "/v1/messages": "anthropic",
    "/api/chat": "ollama",
}


@dataclass(frozen=True, slots=True)
class Dialect:
    """The functions of a wire format. `framed` is an event as bytes.

    `sign_of_life` is the heartbeat that keeps a connection open.
    """

    messages: Callable[[Mapping[str, Any]], tuple[Message, ...]]
    tools: Callable[[Mapping[str, Any]], tuple[str, ...]]
    forced_tool: Callable[[Mapping[str, Any]], str | None]
    reply: Callable[[Reply, str, int], dict[str, Any]]
    chunks: Callable[[Reply, Request, int], Iterator[str]]
    refusal: Callable[[Refusal], dict[str, Any]]
    framed: Callable[[str], bytes]
    stream_type: str
    sign_of_life: bytes


def _server_sent(data: str) -> bytes:
    return f"data: {data}\n\n".encode()


def _dialect(
    wire: ModuleType,
    framed: Callable[[str], bytes] = _server_sent,
    stream_type: str = "text/event-stream",
    sign_of_life: bytes = b": PROCESSING\n\n",  # a comment: OpenRouter's
) -> Dialect:
    functions = (wire.messages, wire.tools, wire.forced_tool, wire.reply, wire.chunks, wire.refusal)
    return Dialect(*functions, framed, stream_type, sign_of_life)


DIALECTS: Mapping[Wire, Dialect] = {
    "openai": _dialect(openai),
    "gemini": _dialect(gemini),
    "anthropic": _dialect(
        anthropic, anthropic.framed, sign_of_life=anthropic.framed(json.dumps(anthropic.PING))
    ),
    "ollama": _dialect(ollama, ollama.framed, "application/x-ndjson", b"\n"),
}


def understand(incoming: Incoming) -> Request | None:
    """The request in the common form; None if no format has this path.

    Raises ValueError, KeyError or TypeError for an invalid body.
    """
    path = incoming.target.partition("?")[0]
    match = _GEMINI_PATH.fullmatch(path)
    wire: Wire | None = "gemini" if match else _PATHS.get(path)
    if _AZURE_PATH.fullmatch(path):
        wire = "openai"
    if incoming.method != "POST" or wire is None:
        return None
    body = json.loads(incoming.body)
    dialect = DIALECTS[wire]
    return Request(
        wire=wire,
        model=match["model"] if match else body["model"],
        messages=dialect.messages(body),
        tools=dialect.tools(body),
        forced_tool=dialect.forced_tool(body),
        stream=match["verb"] == "streamGenerateContent" if match else bool(body.get("stream")),
        path=incoming.target,
        headers=incoming.headers,
        body=body,
        at=time.monotonic(),
    )

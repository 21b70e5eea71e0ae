"""Which wire a path belongs to, and that wire's way to read and write."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from bench.provider import gemini, openai
from bench.provider.http import Incoming
from bench.provider.request import Message, Request, Wire
from bench.provider.turn import Refusal, Reply

_GEMINI_PATH = re.compile(
    r"/v1(?:beta)?/models/(?P<model>[^/:]+):(?P<verb>generateContent|streamGenerateContent)"
)
_OPENAI_PATHS = frozenset({"/openai/v1/chat/completions", "/v1/chat/completions"})


@dataclass(frozen=True, slots=True)
class Dialect:
    """What the two wires do differently."""

    messages: Callable[[Mapping[str, Any]], tuple[Message, ...]]
    tools: Callable[[Mapping[str, Any]], tuple[str, ...]]
    forced_tool: Callable[[Mapping[str, Any]], str | None]
    reply: Callable[[Reply, str, int], dict[str, Any]]
    chunks: Callable[[Reply, str, int], Iterator[str]]
    refusal: Callable[[Refusal], dict[str, Any]]


def _dialect(wire: ModuleType) -> Dialect:
    return Dialect(
        wire.messages, wire.tools, wire.forced_tool, wire.reply, wire.chunks, wire.refusal
    )


DIALECTS: Mapping[Wire, Dialect] = {"openai": _dialect(openai), "gemini": _dialect(gemini)}


def understand(incoming: Incoming) -> Request | None:
    """The request in the common form, or None if no wire has this path.

    Raises ValueError, KeyError or TypeError for a body that is not of its wire.
    """
    path = incoming.target.partition("?")[0]
    match = _GEMINI_PATH.fullmatch(path)
    if incoming.method != "POST" or not (match or path in _OPENAI_PATHS):
        return None
    body = json.loads(incoming.body)
    wire: Wire = "gemini" if match else "openai"
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

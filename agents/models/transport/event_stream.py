"""Reads the JSON objects of a reply's body. The first bytes of the body decide its format; the
content type decides only if they do not.

Servers and proxies send server-sent events as `application/json` or as plain text, and JSON as
`text/event-stream`. Pure: bytes in, objects out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final, Protocol

from agents.errors import ModelUnavailable
from agents.models.error_mapping.mapping import unreadable

MAX_EVENT_BYTES: Final = 16 * 2**20
"""The largest event, and the largest reply that is not streamed."""
MAX_BODY_BYTES: Final = 256 * 2**20
"""The largest body: a stream takes up to 500 bytes for each token."""

_EVENT_STREAM = "text/event-stream"
_LINE_STREAM = ("application/x-ndjson", "application/jsonl", "application/x-jsonlines")
_BOM = b"\xef\xbb\xbf"
_SPACE = b" \t\r\n"
_FIELD = re.compile(rb"(data|event|id|retry|error)?:")
_LONGEST_FIELD = 6
_LINE_FEED = re.compile(rb"\n")
_ANY_LINE_END = re.compile(rb"\r\n|\r|\n")
_DONE = b"[DONE]"
_SHOWN_BYTES = 4_096

Objects = list[dict[str, Any]]


class _Format(Protocol):
    """The format of a body. `done`: the body has announced its end."""

    done: bool

    def feed(self, chunk: bytes) -> Objects: ...

    def close(self) -> Objects: ...


class BodyReader:
    """Reads one body in pieces of any size. Raises ModelUnavailable if the body is not a reply.

    Bytes after the end are ignored.
    """

    def __init__(self, content_type: str) -> None:
        self._kind = content_type
        self._head = b""
        self._size = 0
        self._format: _Format | None = None

    @property
    def done(self) -> bool:
        """Whether the body has announced its end: by `[DONE]`, or because it is one JSON
        document."""
        return self._format is not None and self._format.done

    def feed(self, chunk: bytes) -> Objects:
        """The objects that this piece completes."""
        self._size += len(chunk)
        if self._size > MAX_BODY_BYTES:
            raise _too_large(self._kind, "it", MAX_BODY_BYTES)
        if self._format is None:
            self._head = (self._head + chunk).lstrip(_SPACE).removeprefix(_BOM).lstrip(_SPACE)
            self._format = _format_of(self._head, self._kind)
            chunk = self._head
        return [] if self._format is None or self._format.done else self._format.feed(chunk)

    def close(self) -> Objects:
        """The objects that the end of the body completes. An incomplete event is dropped."""
        if self._format is None:
            self._format = _format_by_type(self._kind)
            self._format.feed(self._head)
        return [] if self._format.done else self._format.close()


def _format_of(head: bytes, kind: str) -> _Format | None:
    """The format of a body that begins with `head`; None if `head` is too short to decide."""
    if head.startswith((b"{", b"[")):
        return _Json(kind)
    if _FIELD.match(head):
        return _ServerSentEvents()
    if len(head) < _LONGEST_FIELD:
        return None
    return _format_by_type(kind)


def _format_by_type(kind: str) -> _Format:
    return _ServerSentEvents() if kind.startswith(_EVENT_STREAM) else _Other(kind)


class _ServerSentEvents:
    """https://html.spec.whatwg.org/multipage/server-sent-events.html

    More lenient in one thing: a line that is complete JSON is an event, because some servers leave
    out the blank line after it.
    """

    def __init__(self) -> None:
        self.done = False
        self._lines = _Lines(_ANY_LINE_END)
        self._name = b""
        self._data: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> Objects:
        objects: Objects = []
        for line in self._lines.feed(chunk):
            objects += self._read(line)
        return objects

    def close(self) -> Objects:
        objects = self._read(self._lines.take_unfinished())
        return objects + (self._parsed(b"\n".join(self._data)) or [])

    def _read(self, line: bytes) -> Objects:
        if self.done:
            return []
        if not line:
            return self._dispatch()
        field, _, value = line.partition(b":")
        if field == b"event":
            self._name = value.strip()
        elif field in (b"data", b"error"):
            if field == b"error":  # llama.cpp's field for an error, until 2025
                self._name = field
            objects = None if self._data else self._parsed(value)
            if objects is not None:
                return objects
            self._size += len(value)
            if self._size > MAX_EVENT_BYTES:
                raise _too_large(_EVENT_STREAM, "an event", MAX_EVENT_BYTES)
            self._data.append(value.removeprefix(b" "))
        return []

    def _dispatch(self) -> Objects:
        data, name = b"\n".join(self._data), self._name
        objects = self._parsed(data)
        self._name, self._data, self._size = b"", [], 0
        if objects is not None:
            return objects
        text = data.decode(errors="replace")
        if name == b"error":
            return [{"type": "error", "error": text}]
        raise unreadable("a stream", text)

    def _parsed(self, data: bytes) -> Objects | None:
        """The objects of an event; None if its data is not complete."""
        data = data.strip(_SPACE)
        while data.startswith(b"data:"):  # a proxy has framed the events again
            data = data.removeprefix(b"data:").strip(_SPACE)
        if data == _DONE:
            self.done = True
            return []
        is_error = self._name == b"error"
        if not data.startswith((b"{", b"[")):
            return None if data and is_error else []  # a sign of life, such as `null`
        objects = _objects(data)
        if objects is None or not is_error:
            return objects
        return [
            parsed if parsed.get("error") else {"type": "error", "error": parsed}
            for parsed in objects
        ]


class _Json:
    """One object a line, or one document over several lines."""

    def __init__(self, kind: str) -> None:
        self.done = False
        self._kind = kind
        self._lines = _Lines(_LINE_FEED)
        self._count = 0
        self._document: list[bytes] = []
        self._size = 0

    def feed(self, chunk: bytes) -> Objects:
        objects: Objects = []
        for line in self._lines.feed(chunk):
            if self._document:
                self._keep(line)
            elif not self.done and line.strip():
                objects += self._read(line)
        return objects

    def close(self) -> Objects:
        unread = self._lines.take_unfinished()
        objects: Objects | None
        if self._count:
            objects = _objects(unread) or []
            self._count += bool(unread.strip())
        else:
            self._document.append(unread)
            text = b"\n".join(self._document)
            objects = _objects(text)
            if objects is None:
                raise unreadable(self._kind, text.decode(errors="replace"))
        is_one_line = self._count < 2 and not self._kind.startswith(_LINE_STREAM)
        self.done = self.done or is_one_line or len(self._document) > 1
        return objects

    def _read(self, line: bytes) -> Objects:
        if line.strip() == _DONE:
            self.done = True
            return []
        objects = _objects(line)
        if objects is not None:
            self._count += 1
            return objects
        if self._count:
            raise unreadable(self._kind, line.decode(errors="replace"))
        self._keep(line)
        return []

    def _keep(self, line: bytes) -> None:
        self._document.append(line)
        self._size += len(line)
        if self._size > MAX_EVENT_BYTES:
            raise _too_large(self._kind, "it", MAX_EVENT_BYTES)


class _Other:
    """No reply: a proxy's page, for example."""

    def __init__(self, kind: str) -> None:
        self.done = False
        self._kind = kind
        self._text = b""

    def feed(self, chunk: bytes) -> Objects:
        self._text = (self._text + chunk)[:_SHOWN_BYTES]
        return []

    def close(self) -> Objects:
        raise unreadable(self._kind, self._text.decode(errors="replace"))


class _Lines:
    """Splits bytes into lines, in a time that is linear in their number."""

    def __init__(self, line_end: re.Pattern[bytes]) -> None:
        self._line_end = line_end
        self._unfinished: list[bytes] = []
        self._size = 0
        self._after_return = False

    def feed(self, chunk: bytes) -> Sequence[bytes]:
        """The lines that this piece completes. The two bytes of a CRLF may come in two pieces."""
        if self._after_return and chunk.startswith(b"\n"):
            chunk = chunk[1:]
            self._after_return = False
        if chunk:
            self._after_return = self._line_end is _ANY_LINE_END and chunk.endswith(b"\r")
        *lines, unfinished = self._line_end.split(chunk)
        if lines:
            lines[0] = self.take_unfinished() + lines[0]
        self._unfinished.append(unfinished)
        self._size += len(unfinished)
        if self._size > MAX_EVENT_BYTES:
            raise _too_large("a stream", "an event", MAX_EVENT_BYTES)
        return lines

    def take_unfinished(self) -> bytes:
        """The bytes after the last line end."""
        unfinished = b"".join(self._unfinished)
        self._unfinished, self._size = [], 0
        return unfinished


def _objects(text: bytes) -> Objects | None:
    """The objects in a JSON text, which is one or an array of them; None if it is not JSON. Texts
    may have control characters, as some servers send them."""
    try:
        value = json.loads(text.decode(errors="replace"), strict=False)
    except (ValueError, RecursionError):
        return None
    values = value if isinstance(value, list) else [value]
    return [item for item in values if isinstance(item, dict)]


def _too_large(kind: str, part: str, limit: int) -> ModelUnavailable:
    reason = f"unreadable reply ({kind}): {part} has more than {limit // 2**20} MiB"
    return ModelUnavailable(reason, status=200)

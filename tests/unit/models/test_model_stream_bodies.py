"""Bodies of replies in the forms that servers and proxies send."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.errors import ModelUnavailable
from agents.models.transport import event_stream
from agents.models.transport.event_stream import BodyReader

SSE, NDJSON, JSON, PLAIN = (
    "text/event-stream",
    "application/x-ndjson",
    "application/json",
    "text/plain; charset=utf-8",
)
A, B = {"a": "1\u2028é"}, {"b": [2]}
ONE, TWO = json.dumps(A, ensure_ascii=False).encode(), json.dumps(B).encode()
PRETTY = json.dumps(A, indent=2, ensure_ascii=False).encode()


def read(body: bytes, kind: str, cuts: tuple[int, ...] = ()) -> tuple[list[dict[str, Any]], bool]:
    """The objects of a body that arrives in pieces, and whether the body reported its end."""
    reader = BodyReader(kind)
    positions = sorted({min(cut, len(body)) for cut in cuts})
    pieces = [body[a:b] for a, b in zip([0, *positions], [*positions, len(body)], strict=True)]
    return feed_all(reader, pieces) + reader.close(), reader.done


def feed_all(reader: BodyReader, pieces: list[bytes]) -> list[dict[str, Any]]:
    return [event for piece in pieces for event in reader.feed(piece)]


BODIES = {
    "plain": (b"data: %s\n\ndata: %s\n\ndata: [DONE]\n\n" % (ONE, TWO), [A, B], True),
    "no done": (b"data: %s\n\ndata: %s\n\n" % (ONE, TWO), [A, B], False),
    "crlf": (b"data: %s\r\n\r\ndata: %s\r\n\r\ndata: [DONE]\r\n\r\n" % (ONE, TWO), [A, B], True),
    "cr": (b"data: %s\r\rdata: %s\r\rdata: [DONE]\r\r" % (ONE, TWO), [A, B], True),
    "mixed ends": (b"data: %s\r\n\ndata: %s\r\rdata: [DONE]\n" % (ONE, TWO), [A, B], True),
    "byte order mark": (b"\xef\xbb\xbfdata: %s\n\n" % ONE, [A], False),
    "blank lines first": (b"\r\n\n\n\ndata: %s\n\n" % ONE, [A], False),
    "no space": (b"data:%s\n\ndata:[DONE]\n\n" % ONE, [A], True),
    "comment first": (b": OPENROUTER PROCESSING\n\ndata: %s\n\n" % ONE, [A], False),
    "event first": (b"event: x\nid: 7\nretry: 10\ndata: %s\n\n" % ONE, [A], False),
    "event after": (b"data: %s\nevent: x\n\n" % ONE, [A], False),
    "no blank lines": (b"data: %s\ndata: %s\ndata: [DONE]\n" % (ONE, TWO), [A, B], True),
    "no last line end": (b"data: %s\n\ndata: %s" % (ONE, TWO), [A, B], False),
    "cut event": (b"data: %s\n\ndata: %s" % (ONE, TWO[:5]), [A], False),
    "several lines": (
        b"".join(b"data: %s\n" % line for line in PRETTY.split(b"\n")) + b"\ndata: [DONE]\n\n",
        [A],
        True,
    ),
    "several lines at the end": (
        b"\r".join(b"data:%s" % line for line in PRETTY.split(b"\n")),
        [A],
        False,
    ),
    "signs of life": (
        b"data: null\n\ndata:\n\ndata\n\ndata: ping\n\ndata: %s\n\n" % ONE,
        [A],
        False,
    ),
    "after done": (b"data: %s\n\ndata: [DONE]\n\ndata: {broken\n\n" % ONE, [A], True),
    "framed twice": (b"data: data: %s\n\ndata: data: [DONE]\n\n" % ONE, [A], True),
    "array": (b"data: [%s, %s]\n\n" % (ONE, TWO), [A, B], False),
    "error as text": (
        b"event: error\ndata: no room\ndata: left\n\n",
        [{"type": "error", "error": "no room\nleft"}],
        False,
    ),
    "error as json": (b"event: error\ndata: %s\n\n" % ONE, [{"type": "error", "error": A}], False),
    "error in its field": (
        b'error: {"code":500}\n\n',
        [{"type": "error", "error": {"code": 500}}],
        False,
    ),
}


@pytest.mark.parametrize("kind", [SSE, JSON, PLAIN, ""])
@pytest.mark.parametrize("name", list(BODIES))
def test_a_body_that_begins_with_events_is_parsed_as_events(name: str, kind: str) -> None:
    body, objects, done = BODIES[name]
    assert read(body, kind) == (objects, done)


@given(st.sampled_from(list(BODIES.values())), st.lists(st.integers(0, 150), max_size=40))
def test_the_division_into_pieces_does_not_matter(case: Any, cuts: list[int]) -> None:
    body, objects, done = case
    assert read(body, SSE, tuple(cuts)) == (objects, done)
    assert read(body, JSON, tuple(range(len(body)))) == (objects, done)


@pytest.mark.parametrize("kind", [NDJSON, SSE, JSON, PLAIN])
@pytest.mark.parametrize(
    ("body", "objects", "done"),
    [
        (b"%s\n%s\n" % (ONE, TWO), [A, B], False),
        (b"\n%s\r\n\r\n%s" % (ONE, TWO), [A, B], False),
        (b"%s\n%s" % (ONE, TWO[:4]), [A], False),
        (b"%s\n[DONE]\n" % ONE, [A], True),
        (PRETTY, [A], True),
        (b"[%s,\n%s\n]\n" % (ONE, TWO), [A, B], True),
    ],
    ids=["lines", "crlf", "cut", "done", "several lines", "array"],
)
@given(cuts=st.lists(st.integers(0, 60), max_size=20))
def test_json_is_read_by_lines_or_as_one_document(
    body: bytes, objects: list[Any], kind: str, cuts: list[int], *, done: bool
) -> None:
    assert read(body, kind, tuple(cuts)) == (objects, done)


def test_one_line_of_json_is_a_complete_reply_unless_it_is_a_stream_of_lines() -> None:
    assert read(ONE, JSON) == read(ONE + b"\n", SSE) == ([A], True)
    assert read(ONE + b"\n", NDJSON) == ([A], False)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"<html>Sign in</html>", "text/html"),
        (b"", JSON),
        (b"Bad gateway", PLAIN),
        (b'{"choices": [{"mess', JSON),
        (b"%s\n{no json\n" % ONE, NDJSON),
        (b"data: {no json\n\n", SSE),
        (b"\xff\xfe\x00", ""),
    ],
)
def test_anything_else_is_unreadable(body: bytes, kind: str) -> None:
    with pytest.raises(ModelUnavailable, match=r"unreadable reply|a web page"):
        read(body, kind)


def test_a_byte_that_is_not_utf_8_replaces_one_character() -> None:
    assert read(b'data: {"a": "x\xff"}\n\n', SSE) == ([{"a": "x\ufffd"}], False)


@pytest.mark.parametrize("line_end", [b"\n", b""], ids=["many lines", "one line"])
@pytest.mark.parametrize("begin", [b'data: {"a": "', b'{"a": "', b"[\n"])
def test_the_size_of_an_event_is_limited(
    monkeypatch: pytest.MonkeyPatch, begin: bytes, line_end: bytes
) -> None:
    monkeypatch.setattr(event_stream, "MAX_EVENT_BYTES", 2**20)
    reader = BodyReader(SSE)
    line = b"data: " + b"x" * 1_000 + line_end if begin.startswith(b"data") else b"x" * 1_000
    with pytest.raises(ModelUnavailable, match="more than 1 MiB"):
        feed_all(reader, [begin + line_end, *[line] * 2_000])


def test_the_size_of_a_body_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_stream, "MAX_BODY_BYTES", 2**20)
    reader = BodyReader(SSE)
    with pytest.raises(ModelUnavailable, match="more than 1 MiB"):
        feed_all(reader, [b": alive\n\n" * 10] * 100_000)


def test_a_long_line_in_small_pieces_is_read_in_linear_time() -> None:
    """If the line were joined again for each piece, this would copy 64 GB."""
    reader = BodyReader(SSE)
    reader.feed(b'data: {"a": "')
    started_at = time.process_time()
    for _ in range(2**17):
        reader.feed(b"x" * 8)
    (event,) = reader.feed(b'"}\n\n')
    assert len(event["a"]) == 2**20
    assert time.process_time() - started_at < 5

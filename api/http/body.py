"""Reads a body after the key was checked: within its size limit, as strict JSON.

Its depth and its number of values are counted while it arrives (api.http.json_shape). FastAPI
would read and parse a body before it checks the key.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from fastapi import Request
from pydantic import ValidationError
from starlette.requests import ClientDisconnect

from api import problems
from api.http.json_shape import JsonShape, TooComplex
from api.problems import Refused
from api.refusals import invalid
from api.schemas.problem import FieldError
from api.schemas.wire import RequestModel
from settings.api import ApiSettings

A = TypeVar("A", bound=RequestModel)

OTHER_VALUES = 500
"""Values of a body, in addition to its files."""
PIECE_BYTES = 64 * 1024


async def read(
    request: Request, model: type[A], settings: ApiSettings, most: int | None = None
) -> tuple[A, int]:
    """The body as `model`, and its size.

    Raises Refused: 408, 415, 422, and 413 above `most` bytes (the settings' `max_body_bytes`).
    """
    _check_type(request.headers.get("content-type", ""))
    most = settings.max_body_bytes if most is None else most
    shape = JsonShape(settings.max_files + OTHER_VALUES)
    raw = await bounded(request, most, settings.body_seconds, shape.feed)
    if (
        shape.wrong is not None
    ):  # only now: an answer before the body's end would cut the sender off
        raise _too_complex(shape.wrong)
    try:
        return model.model_validate_json(raw), len(raw)
    except ValidationError as error:
        raise invalid(error.errors(include_url=False, include_input=False)) from None


async def bounded(
    request: Request, most: int, seconds: float, look: Callable[[bytes], None] | None = None
) -> bytes:
    """The raw body, of at most `most` bytes; `look` gets each piece. Raises Refused: 408, 413."""
    try:
        async with asyncio.timeout(seconds):
            return await _bytes(request, most, look)
    except TimeoutError:
        raise _too_slow(seconds) from None


def too_large(most: int, what: str = "the body") -> Refused:
    """A 413; it closes the connection, since the rest of the body is not read."""
    detail = f"{what} may have at most {most} bytes"
    return Refused(problems.TOO_LARGE, detail, {"limit": most}, {"Connection": "close"})


def _too_slow(seconds: float) -> Refused:
    detail = f"the body did not arrive within {seconds:g} s"
    return Refused(problems.TOO_SLOW, detail, {"limit": seconds}, {"Connection": "close"})


def _too_complex(wrong: TooComplex) -> Refused:
    error = FieldError(field="body", message=wrong.message, limit=wrong.limit)
    return Refused(problems.INVALID, f"body: {wrong.message}", {"errors": [error]})


def _check_type(content_type: str) -> None:
    essence = content_type.partition(";")[0].strip().lower()
    if essence != "application/json":
        detail = f"send application/json, not {essence[:100] or 'a body without a type'}"
        raise Refused(problems.MEDIA_TYPE_REFUSED, detail)


async def _bytes(request: Request, most: int, look: Callable[[bytes], None] | None) -> bytes:
    announced = request.headers.get("content-length", "0")
    if announced.isdecimal() and int(announced[:20]) > most:
        raise too_large(most)
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > most:
                raise too_large(most)
            if look is not None:
                await _in_pieces(chunk, look)
    except ClientDisconnect:
        raise Refused(problems.BAD_REQUEST, "the body ended too soon") from None
    return bytes(body)


async def _in_pieces(chunk: bytes, look: Callable[[bytes], None]) -> None:
    for start in range(0, len(chunk), PIECE_BYTES):
        look(chunk[start : start + PIECE_BYTES])
        await asyncio.sleep(0)  # other requests are served between two pieces

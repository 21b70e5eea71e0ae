"""Reads a body after the key was checked: within its size limit, as strict JSON.

FastAPI would read and parse a body before it checks the key.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any, TypeVar

from fastapi import Request
from pydantic import ValidationError
from pydantic_core import from_json, to_json
from starlette.requests import ClientDisconnect

from api import problems
from api.http.field_errors import invalid
from api.problems import Refused
from api.schemas.fields import RequestModel
from api.schemas.problem import FieldError
from settings.api import ApiSettings

A = TypeVar("A", bound=RequestModel)

VALUES_OF_A_FILE = 3
OTHER_VALUES = 500
"""Values of a body, in addition to its files."""
DEEPEST = 16
JSON_FILES_BYTES = 10 * 1024 * 1024
"""Files in a JSON body: to read it takes several times its size in memory."""
OF_BODIES = " (FETTLE_MAX_BODY_BYTES)"
OF_FILES = " (FETTLE_MAX_FILES_BYTES for its files and bundle, FETTLE_MAX_BODY_BYTES for the rest)"
PER_SECOND = 1024 * 1024
"""Bytes: long files have time to arrive, and who sends nothing gets no more of it."""


async def read(
    request: Request, model: type[A], settings: ApiSettings, with_files: str | None = None
) -> tuple[A, int]:
    """The body as `model`, and its size.

    Raises Refused: 408, 415, 422, and 413 above the settings' `max_body_bytes`. A body `with_files`
    may be longer by those; the text ends the 413's.
    """
    _check_type(essence(request))
    most, how = settings.max_body_bytes, OF_BODIES
    if with_files is not None:
        most, how = most + min(settings.max_files_bytes, JSON_FILES_BYTES), with_files
    raw = await bounded(request, most, settings.body_seconds, how)
    return parsed(raw, model, settings), len(raw)


def parsed(raw: bytes, model: type[A], settings: ApiSettings) -> A:
    """JSON as `model`. Raises Refused: 422."""
    plain = _simple(raw, VALUES_OF_A_FILE * settings.max_files + OTHER_VALUES)
    try:
        return model.model_validate_json(plain)
    except ValidationError as error:
        raise invalid(error.errors(include_url=False, include_input=False)) from None


async def read_optional(request: Request, without: A, settings: ApiSettings) -> A:
    """The body as another of `without`'s type; `without` itself where there is none."""
    if "transfer-encoding" in request.headers or request.headers.get("content-length", "0") != "0":
        return (await read(request, type(without), settings))[0]
    return without


async def bounded(request: Request, most: int, seconds: float, how: str = "") -> bytes:
    """The raw body, of at most `most` bytes. Raises Refused: 400, 408, 413."""
    body = bytearray()
    async for piece in pieces(request, most, seconds, how):
        body += piece
    return bytes(body)


async def pieces(
    request: Request, most: int, seconds: float, how: str = ""
) -> AsyncGenerator[bytes, None]:
    """The raw body as it arrives, within `seconds` and one more for each `PER_SECOND` bytes.

    Raises Refused: 400 where it ends too soon, 408, 413; `how` ends the text of that one.
    """
    announced = request.headers.get("content-length", "0")
    if announced.isdecimal() and int(announced[:20]) > most:
        raise too_large(most, how=how)
    stream, received = request.stream(), 0
    until = asyncio.get_running_loop().time() + seconds
    try:
        while True:
            async with asyncio.timeout_at(until + received / PER_SECOND):
                piece = await anext(stream, None)
            if piece is None:
                return
            received += len(piece)
            if received > most:
                raise too_large(most, how=how)
            yield piece
    except TimeoutError:
        raise _too_slow(seconds) from None
    except ClientDisconnect:
        raise Refused(problems.BAD_REQUEST, "the body ended too soon") from None


def essence(request: Request) -> str:
    """The media type of the body, without parameters, in lower case."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def too_large(most: int, what: str = "the body", how: str = "") -> Refused:
    """A 413; it closes the connection, since the rest of the body is not read."""
    detail = f"{what} may have at most {most} bytes{how}"
    return Refused(problems.TOO_LARGE, detail, {"limit": most}, {"Connection": "close"})


def _too_slow(seconds: float) -> Refused:
    detail = f"the body did not arrive within {seconds:g} s"
    return Refused(problems.TOO_SLOW, detail, {"limit": seconds}, {"Connection": "close"})


def _simple(raw: bytes, most: int) -> bytes:
    """The body with each name once, if it is no deeper and has no more values than a valid request.

    Validation costs a thousand times more than parsing, since it makes an error for each of a
    million unknown fields. What is no JSON is left to it.
    """
    try:
        body: Any = from_json(raw, allow_inf_nan=False)
    except ValueError:
        return raw
    count, found = 0, [(body, 1)]
    while found:
        value, depth = found.pop()
        if not isinstance(value, dict | list):
            continue
        count += len(value)
        if depth > DEEPEST or count > most:
            raise _too_complex(most if count > most else DEEPEST, deep=count <= most)
        inner = value.values() if isinstance(value, dict) else value
        found += [(each, depth + 1) for each in inner]
    return to_json(body)


def _too_complex(limit: int, *, deep: bool) -> Refused:
    message = f"it may be nested {limit} deep" if deep else f"it may have {limit} values"
    error = FieldError(field="body", message=message, limit=limit)
    return Refused(problems.INVALID, f"body: {message}", {"errors": [error]})


def _check_type(sent: str) -> None:
    if sent != "application/json":
        detail = f"send application/json, not {sent[:100] or 'a body without a type'}"
        raise Refused(problems.MEDIA_TYPE_REFUSED, detail)

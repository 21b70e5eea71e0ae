"""Request bodies: JSON, forms with files, and plain bytes, within limits of size and time.

The routes read a body after they have checked the key. FastAPI would read and parse it before.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from fastapi import Request
from pydantic import ValidationError
from pydantic_core import from_json, to_json
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect
from typing_extensions import override

from api import problems
from api.http.field_errors import invalid
from api.problems import RefusedRequest
from api.schemas.fields import RequestModel
from api.schemas.problem import FieldError
from settings.api import ApiSettings

M = TypeVar("M", bound=RequestModel)

VALUES_PER_FILE = 3
OTHER_VALUES = 500
"""JSON values that a body may have in addition to those of its files."""
MAX_DEPTH = 16
MAX_JSON_FILES_BYTES = 10 * 1024 * 1024
"""Files in a JSON body. Parsing takes several times their size in memory."""
BODY_SETTING = " (FETTLE_MAX_BODY_BYTES)"
FILES_SETTINGS = (
    " (FETTLE_MAX_FILES_BYTES for its files and bundle, FETTLE_MAX_BODY_BYTES for the rest)"
)
BYTES_PER_SECOND = 1024 * 1024
"""The slowest upload. A body gets one second more for each of these parts that has arrived."""

MULTIPART = "multipart/form-data"
FILES = "files"
BUNDLE = "bundle"
MAX_FORM_FIELDS = 100
PART_HEAD_BYTES = 1_024
"""A part's bytes besides its content: boundary, name, and a path of at most 240 bytes."""


async def read_json(
    request: Request,
    model: type[M],
    settings: ApiSettings,
    files_advice: str | None = None,
    requests: int = 1,
) -> tuple[M, int]:
    """Read the body as `model`. Returns the model, and the size of the body in bytes.

    The body may have `max_body_bytes`. If the model contains files, `files_advice` is the end of
    the text of a 413, and the body may be longer by the size of the files. `requests`: the number
    of requests that the model contains.

    A page has read its form: `request.state.posted_fields` has the values then.

    Raises RefusedRequest: 408, 413, 415, 422.
    """
    if (fields := getattr(request.state, "posted_fields", None)) is not None:
        return parse_json(to_json(_nest_fields(fields)), model, settings, strict=False), 0
    _check_is_json(media_type_of(request))
    limit, advice = settings.max_body_bytes, BODY_SETTING
    if files_advice is not None:
        limit += min(settings.max_files_bytes, MAX_JSON_FILES_BYTES)
        advice = files_advice
    content = await read_bytes(request, limit, settings.body_seconds, advice)
    return parse_json(content, model, settings, requests=requests), len(content)


def _nest_fields(fields: Mapping[str, list[str]]) -> dict[str, Any]:
    """The values of a form as those of a JSON object: `a.b` is the field `b` of the object `a`,
    `c[]` is a list, and an empty text is null."""
    objects: dict[str, dict[str, Any]] = defaultdict(dict)
    for name, texts in fields.items():
        parent, _, last = name.rpartition(".")
        value = texts if last.endswith("[]") else texts[-1] or None
        objects[parent][last.removesuffix("[]")] = value
    return {**objects.pop("", {}), **objects}


async def read_optional_json(request: Request, default: M, settings: ApiSettings) -> M:
    """Read the body as the type of `default`. Returns `default` if there is no body."""
    if "transfer-encoding" in request.headers or request.headers.get("content-length", "0") != "0":
        return (await read_json(request, type(default), settings))[0]
    return default


def parse_json(
    content: bytes,
    model: type[M],
    settings: ApiSettings,
    *,
    strict: bool | None = None,
    requests: int = 1,
) -> M:
    """Parse JSON as `model`. If not `strict`, texts may be numbers. Raises RefusedRequest: 422."""
    simple = _simplify(content, VALUES_PER_FILE * settings.max_files + OTHER_VALUES * requests)
    try:
        return model.model_validate_json(simple, strict=strict)
    except ValidationError as error:
        raise invalid(error.errors(include_url=False, include_input=False)) from None


async def read_bytes(request: Request, limit: int, seconds: float, advice: str = "") -> bytes:
    """Read at most `limit` bytes. Raises RefusedRequest: 400, 408, 413."""
    body = bytearray()
    async for chunk in stream_bytes(request, limit, seconds, advice):
        body += chunk
    return bytes(body)


async def stream_bytes(
    request: Request, limit: int, seconds: float, advice: str = ""
) -> AsyncGenerator[bytes, None]:
    """Yield the body as it arrives, within `seconds` and one more for each `BYTES_PER_SECOND`.

    `advice` ends the text of a 413. Raises RefusedRequest: 400 if the body ends too soon, 401 if
    the caller's key was revoked in the meantime, 408, 413.
    """
    announced = request.headers.get("content-length", "0")
    if announced.isdecimal() and int(announced[:20]) > limit:
        raise too_large(limit, advice=advice)
    stream, received = request.stream(), 0
    deadline = asyncio.get_running_loop().time() + seconds
    try:
        while True:
            async with asyncio.timeout_at(deadline + received / BYTES_PER_SECOND):
                chunk = await anext(stream, None)
            if chunk is None:
                break
            received += len(chunk)
            if received > limit:
                raise too_large(limit, advice=advice)
            yield chunk
    except TimeoutError:
        raise _too_slow(seconds) from None
    except ClientDisconnect:
        raise RefusedRequest(
            problems.BAD_REQUEST, "the body ended before its announced end"
        ) from None
    check_key: Callable[[], Awaitable[None]] | None = getattr(request.state, "check_key", None)
    if check_key is not None:
        await check_key()


def media_type_of(request: Request) -> str:
    """The media type of the body, without parameters, in lower case."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def too_large(limit: int, subject: str = "the body", advice: str = "") -> RefusedRequest:
    """A 413. It closes the connection, because the rest of the body is not read."""
    detail = f"{subject} may have at most {limit} bytes{advice}"
    return RefusedRequest(problems.TOO_LARGE, detail, {"limit": limit}, {"Connection": "close"})


def _too_slow(seconds: float) -> RefusedRequest:
    detail = f"the body did not arrive within {seconds:g} s"
    return RefusedRequest(problems.TOO_SLOW, detail, {"limit": seconds}, {"Connection": "close"})


def _simplify(content: bytes, max_values: int) -> bytes:
    """Check depth and number of the values, and drop repeated names of objects.

    Validation costs a thousand times more than parsing, because it makes an error for each of a
    million unknown fields. Validation also reports content that is not JSON.
    """
    try:
        body: Any = from_json(content, allow_inf_nan=False)
    except ValueError:
        return content
    count, pending = 0, [(body, 1)]
    while pending:
        value, depth = pending.pop()
        if not isinstance(value, dict | list):
            continue
        count += len(value)
        if count > max_values:
            raise _too_complex(f"it may have at most {max_values} values", max_values)
        if depth > MAX_DEPTH:
            raise _too_complex(f"it may be nested at most {MAX_DEPTH} deep", MAX_DEPTH)
        children = value.values() if isinstance(value, dict) else value
        pending += [(child, depth + 1) for child in children]
    return to_json(body)


def _too_complex(message: str, limit: int) -> RefusedRequest:
    error = FieldError(field="body", message=message, limit=limit)
    return RefusedRequest(problems.INVALID, f"body: {message}", {"errors": [error]})


def _check_is_json(media_type: str) -> None:
    if media_type != "application/json":
        sent = media_type[:100] or "a body without a media type"
        detail = f"send the body with Content-Type: application/json, not {sent}"
        raise RefusedRequest(problems.MEDIA_TYPE_REFUSED, detail)


@dataclass(frozen=True, slots=True)
class FormParts:
    """The parts of a form with files."""

    fields: Mapping[str, str]
    """Texts by the name of their part."""
    files: Mapping[str, bytes]
    """The parts that are named `files`, by path."""
    bundle: bytes | None = None
    """The file of the part `bundle`."""

    def json(self, name: str) -> bytes:
        """The field that is JSON. Raises RefusedRequest, 422, if it is missing."""
        if name not in self.fields:
            raise _invalid_part(name, f"the part `{name}` is missing: it contains the JSON")
        return self.fields[name].encode()


NO_PARTS = FormParts({}, {})


class _Parser(MultiPartParser):
    """Records whether the last boundary has arrived: a form drops a part that has no end."""

    is_complete = False

    @override
    def on_end(self) -> None:
        self.is_complete = True


def is_form(request: Request) -> bool:
    """Whether the body is a form with files."""
    return media_type_of(request) == MULTIPART


async def read_form(request: Request, settings: ApiSettings, max_fields_bytes: int) -> FormParts:
    """Read fields of at most `max_fields_bytes` bytes together, and files within the settings.

    Long files pass through the system's temporary directory. Raises RefusedRequest: 400, 408, 413,
    422.
    """
    heads = PART_HEAD_BYTES * (settings.max_files + MAX_FORM_FIELDS)
    limit = max_fields_bytes + settings.max_files_bytes + heads
    parser = _Parser(
        request.headers,
        stream_bytes(request, limit, settings.body_seconds, FILES_SETTINGS),
        # The JSON and a bundle may be files, too. One file too many is refused with the others.
        max_files=settings.max_files + 3,
        max_fields=MAX_FORM_FIELDS,
        max_part_size=max_fields_bytes,
    )
    try:
        form = await parser.parse()
    except (MultiPartException, KeyError) as error:
        raise _unreadable_form(str(error), settings) from None
    try:
        if not parser.is_complete:
            raise _unreadable_form("its last boundary is missing", settings)
        fields = {name: value for name, value in form.items() if isinstance(value, str)}
        files: dict[str, bytes] = {}
        for name, part in form.multi_items():
            if isinstance(part, UploadFile) and name != BUNDLE:
                await _add_file_part(name, part, fields, files)
        bundle = await _read_bundle(form.get(BUNDLE), len(form.getlist(BUNDLE)))
        return FormParts(fields, files, bundle)
    finally:
        await form.close()


async def _read_bundle(part: UploadFile | str | None, count: int) -> bytes | None:
    if count > 1:
        raise _invalid_part(BUNDLE, "the form has this part twice: send one bundle")
    if isinstance(part, str) and part:
        raise _invalid_part(BUNDLE, "send it as a file: its part has a file name")
    if not isinstance(part, UploadFile) or not part.filename:  # a browser's empty file field
        return None
    return await part.read()


async def _add_file_part(
    name: str, part: UploadFile, fields: dict[str, str], files: dict[str, bytes]
) -> None:
    """Add a part with a file name to the files or to the fields: `curl -F 'job=@job.json'` sends a
    field as a file."""
    content = await part.read()
    if name != FILES:
        fields[name] = content.decode(errors="replace")
    elif part.filename in files:
        raise _invalid_part(FILES, f"two files have the path {part.filename[:100]}")
    elif part.filename:  # a browser sends an empty name if no file was chosen
        files[part.filename] = content


def _unreadable_form(reason: str, settings: ApiSettings) -> RefusedRequest:
    if reason.startswith("Too many files"):
        limit = settings.max_files
        message = f"a job may have at most {limit} files (FETTLE_MAX_FILES)"
        return _invalid_part(FILES, message, limit)
    return RefusedRequest(problems.BAD_REQUEST, f"the form cannot be read: {reason[:200]}")


def _invalid_part(field: str, message: str, limit: int | None = None) -> RefusedRequest:
    error = FieldError(field=field, message=message, limit=limit)
    return RefusedRequest(problems.INVALID, f"{field}: {message}", {"errors": [error]})

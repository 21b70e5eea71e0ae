"""Posted forms: their fields, and their values as the request models of the JSON API."""

from __future__ import annotations

import asyncio
from typing import Any, TypeVar
from urllib.parse import parse_qs

from fastapi import Request
from pydantic import ValidationError

from api import problems
from api.http.body import read_bytes
from api.http.field_errors import invalid, refuse
from api.problems import RefusedRequest
from api.quantities import TYPED_DURATIONS, parse_duration
from api.schemas.fields import RequestModel
from api.schemas.problem import FieldError
from settings.api import ApiSettings

M = TypeVar("M", bound=RequestModel)

FORM_TOKEN = "x-form-token"  # noqa: S105 - the name of a header, and of a field
MAX_FIELDS = 100
ENCODING_FACTOR = 3
"""URL encoding makes a text at most three times longer."""


async def posted_fields(request: Request, settings: ApiSettings) -> dict[str, list[str]]:
    """The fields of a form with all their values. The check of the form's token and the view both
    call this; the body is read once. Raises RefusedRequest: 400, 408, 413."""
    if not hasattr(request.state, "posted_fields"):
        limit = ENCODING_FACTOR * settings.max_body_bytes
        content = await read_bytes(request, limit, settings.body_seconds)
        request.state.posted_fields = await _parse(content.decode(errors="replace"))
    fields: dict[str, list[str]] = request.state.posted_fields
    return fields


async def form_values(
    request: Request, settings: ApiSettings, *, lists: frozenset[str] = frozenset()
) -> dict[str, Any]:
    """The last value of each field except the form's token, with line ends normalized; all values
    of the fields in `lists`. Raises RefusedRequest: 400, 408, 413."""
    fields = await posted_fields(request, settings)
    values = {name: [text.replace("\r\n", "\n") for text in fields[name]] for name in fields}
    values.pop(FORM_TOKEN, None)
    return {name: texts if name in lists else texts[-1] for name, texts in values.items()}


def split_labels(text: str) -> list[str]:
    """The labels in a field, which has commas between them."""
    return [part.strip() for part in text.split(",") if part.strip()]


def as_request(model: type[M], values: dict[str, Any]) -> M:
    """The request model with these values; a person types a duration as in 30m. Raises
    RefusedRequest: 422."""
    typed = {name: text for name, text in values.items() if name.endswith("_seconds") and text}
    durations = {name: parse_duration(text) for name, text in typed.items()}
    refuse(
        FieldError(field=name, message=f"{typed[name][:40]!r} is no duration: {TYPED_DURATIONS}")
        for name, seconds in durations.items()
        if seconds is None
    )
    values = {**values, **durations}
    try:
        return model.model_validate(values, strict=False)
    except ValidationError as error:
        raise invalid(error.errors(include_url=False, include_input=False)) from None


async def _parse(text: str) -> dict[str, list[str]]:
    """Parse in a thread: decoding a text with every character encoded takes a second."""
    try:
        return await asyncio.to_thread(
            parse_qs, text, keep_blank_values=True, max_num_fields=MAX_FIELDS
        )
    except ValueError:
        detail = f"the form has more than {MAX_FIELDS} fields"
        raise RefusedRequest(problems.BAD_REQUEST, detail) from None

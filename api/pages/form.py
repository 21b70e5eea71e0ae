"""A posted form as the request model of the JSON API."""

from __future__ import annotations

import asyncio
from typing import Any, TypeVar
from urllib.parse import parse_qs

from fastapi import Request
from pydantic import ValidationError

from api import problems
from api.http.body import bounded
from api.problems import Refused
from api.refusals import invalid
from api.schemas.wire import RequestModel
from settings.api import ApiSettings

A = TypeVar("A", bound=RequestModel)
MOST_FIELDS = 100
ENCODED = 3
"""URL encoding makes a text at most so many times longer."""


async def fields(
    request: Request, settings: ApiSettings, *, lists: frozenset[str] = frozenset()
) -> dict[str, Any]:
    """The fields of a form, with line ends normalized; those of `lists` with all their values."""
    raw = await bounded(request, ENCODED * settings.max_body_bytes, settings.body_seconds)
    text = raw.decode(errors="replace")
    # in a thread: decoding a text with every character encoded takes a second
    try:
        sent = await asyncio.to_thread(
            parse_qs, text, keep_blank_values=True, max_num_fields=MOST_FIELDS
        )
    except ValueError:
        detail = f"the form has more than {MOST_FIELDS} fields"
        raise Refused(problems.BAD_REQUEST, detail) from None
    found = {name: [value.replace("\r\n", "\n") for value in sent[name]] for name in sent}
    return {name: values if name in lists else values[-1] for name, values in found.items()}


def checked(model: type[A], asked: dict[str, Any]) -> A:
    """The request model from plain values. Raises Refused: 422."""
    try:
        return model.model_validate(asked, strict=False)
    except ValidationError as error:
        raise invalid(error.errors(include_url=False, include_input=False)) from None

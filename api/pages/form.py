"""A posted form as the request model of the JSON API."""

from __future__ import annotations

from typing import Any, TypeVar

from fastapi import Request
from pydantic import ValidationError

from api.http.field_errors import invalid
from api.pages.posted import posted
from api.schemas.fields import RequestModel
from settings.api import ApiSettings

A = TypeVar("A", bound=RequestModel)


async def fields(
    request: Request, settings: ApiSettings, *, lists: frozenset[str] = frozenset()
) -> dict[str, Any]:
    """The fields of a form, with line ends normalized; those of `lists` with all their values."""
    sent = await posted(request, settings)
    found = {name: [value.replace("\r\n", "\n") for value in sent[name]] for name in sent}
    return {name: values if name in lists else values[-1] for name, values in found.items()}


def checked(model: type[A], asked: dict[str, Any]) -> A:
    """The request model from plain values. Raises Refused: 422."""
    try:
        return model.model_validate(asked, strict=False)
    except ValidationError as error:
        raise invalid(error.errors(include_url=False, include_input=False)) from None

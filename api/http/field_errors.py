"""Errors of a request's fields: the errors of pydantic, and unknown query parameters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from fastapi import Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from api import problems
from api.problems import RefusedRequest
from api.schemas.patterns import PATTERNS
from api.schemas.problem import FieldError

MAX_ERRORS = 50
MAX_FIELD_CHARACTERS, MAX_MESSAGE_CHARACTERS = 200, 500
"""A name and a message are cut to these lengths, because both may repeat input."""
DETAILED_ERRORS = 3
"""Errors that the detail of a problem repeats."""
_SOURCES = ("body", "query", "path", "header")
_LIMITS = ("max_length", "min_length", "le", "ge", "lt", "gt", "pattern", "expected")


def refuse(errors: Iterable[FieldError]) -> None:
    """Raise RefusedRequest, a 422, if there are errors."""
    if field_errors := list(errors):
        raise problem_of(field_errors)


def problem_of(errors: Sequence[FieldError]) -> RefusedRequest:
    """A 422 with the first errors."""
    detail = "; ".join(f"{error.field}: {error.message}" for error in errors[:DETAILED_ERRORS])
    return RefusedRequest(problems.INVALID, detail, {"errors": list(errors[:MAX_ERRORS])})


def invalid(errors: Any) -> RefusedRequest:
    """A 422 from pydantic's errors."""
    return problem_of(field_errors(errors))


def field_errors(errors: Iterable[Mapping[str, Any]]) -> Sequence[FieldError]:
    """The first of pydantic's errors, each with its field, message and limit, without input."""
    return [_field_error(error) for error, _ in zip(errors, range(MAX_ERRORS), strict=False)]


async def check_query(request: Request) -> None:
    """Refuse unknown parameters: a misspelt filter must not be ignored.

    Raises RefusedRequest: 422, which lists the valid parameters.
    """
    route = request.scope["route"]
    if not isinstance(route, APIRoute):
        return
    valid = set(_parameter_names(route.dependant))
    listed = ", ".join(sorted(valid)) or "none"
    refuse(
        FieldError(field=name[:100], message=f"this parameter does not exist; valid here: {listed}")
        for name in dict.fromkeys(request.query_params)
        if name not in valid
    )


def _field_error(error: Mapping[str, Any]) -> FieldError:
    context = error.get("ctx") or {}
    limit = next((context[name] for name in _LIMITS if name in context), None)
    field = context.get("field") or _field_name(error["loc"])
    message = PATTERNS.get(str(limit), error["msg"])
    return FieldError(
        field=str(field)[:MAX_FIELD_CHARACTERS],
        message=str(message)[:MAX_MESSAGE_CHARACTERS],
        **({} if limit is None else {"limit": limit}),
    )


def _field_name(location: Sequence[Any]) -> str:
    parts = location[1:] if location and location[0] in _SOURCES else location
    return ".".join(str(part) for part in parts) or "body"


def _parameter_names(dependant: Dependant) -> Iterator[str]:
    yield from (field.alias for field in dependant.query_params)
    for dependency in dependant.dependencies:
        yield from _parameter_names(dependency)

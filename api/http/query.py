"""Refuses unknown query parameters: a misspelt filter must not be ignored."""

from __future__ import annotations

from collections.abc import Iterator

from fastapi import Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute

from api import problems
from api.problems import Refused
from api.schemas.problem import FieldError


async def known_parameters(request: Request) -> None:
    """Check the parameters of a route's query. Raises Refused: 422, which lists the valid ones."""
    route = request.scope["route"]
    if not isinstance(route, APIRoute):
        return
    known = set(_names(route.dependant))
    listed = ", ".join(sorted(known)) or "none"
    errors = [
        FieldError(field=name[:100], message=f"this parameter does not exist; valid here: {listed}")
        for name in dict.fromkeys(request.query_params)
        if name not in known
    ]
    if errors:
        detail = "; ".join(f"{error.field}: {error.message}" for error in errors[:3])
        raise Refused(problems.INVALID, detail, {"errors": errors[:50]})


def _names(dependant: Dependant) -> Iterator[str]:
    yield from (field.alias for field in dependant.query_params)
    for one in dependant.dependencies:
        yield from _names(one)

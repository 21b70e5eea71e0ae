"""Pydantic's errors as fields with a message and a limit. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from api import problems
from api.problems import Refused
from api.schemas.patterns import PATTERNS
from api.schemas.problem import FieldError

MOST = 50
LONGEST_FIELD, LONGEST_MESSAGE = 200, 500
"""Characters of a name and of a message: both may repeat input."""
_PLACES = ("body", "query", "path", "header")
_LIMITS = (
    "max_length",
    "min_length",
    "le",
    "ge",
    "lt",
    "gt",
    "pattern",
    "expected",
)


def invalid(errors: Any) -> Refused:
    """Pydantic's errors as a 422 that names each field and its limit."""
    found = field_errors(errors)
    detail = "; ".join(f"{error.field}: {error.message}" for error in found[:3])
    return Refused(problems.INVALID, detail, {"errors": found})


def field_errors(errors: Iterable[Mapping[str, Any]]) -> Sequence[FieldError]:
    """The first errors, without the input."""
    return [_field_error(error) for error, _ in zip(errors, range(MOST), strict=False)]


def _field_error(error: Mapping[str, Any]) -> FieldError:
    context = error.get("ctx") or {}
    limit = next((context[name] for name in _LIMITS if name in context), None)
    field = context.get("field") or _field(error["loc"])
    more = {} if limit is None else {"limit": limit}
    message = PATTERNS.get(str(limit), error["msg"])
    shown = str(field)[:LONGEST_FIELD]
    return FieldError(field=shown, message=str(message)[:LONGEST_MESSAGE], **more)


def _field(place: Sequence[Any]) -> str:
    named = place[1:] if place and place[0] in _PLACES else place
    return ".".join(str(part) for part in named) or "body"

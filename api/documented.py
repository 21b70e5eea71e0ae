"""What FastAPI cannot see by itself: bodies that we read ourselves, and problems."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from api import problems
from api.problems import MEDIA_TYPE, Kind
from api.schemas.checks import VerificationRequest
from api.schemas.job_request import JobRequest
from api.schemas.key import DayLimits, KeyRequest
from api.schemas.models import CheckRequest
from api.schemas.problem import Problem
from api.schemas.review import ReviewRequest

_REF = "#/components/schemas/"
_MODELS: tuple[type[BaseModel], ...] = (
    JobRequest,
    VerificationRequest,
    ReviewRequest,
    KeyRequest,
    DayLimits,
    CheckRequest,
    Problem,
)
_ALWAYS = (
    problems.UNAUTHORIZED,
    problems.FORBIDDEN,
    problems.INVALID,
    problems.RATE_LIMITED,
    problems.INTERNAL,
    problems.STORE_UNAVAILABLE,
    problems.OUTCOME_UNKNOWN,
)
_BODY = (problems.TOO_SLOW, problems.TOO_LARGE, problems.MEDIA_TYPE_REFUSED)
ABOUT = """
Fettle takes a coding task in plain English and hands back code that has been run.

Send a task to `POST /jobs`, follow it at `GET /jobs/{id}/events` or poll `GET /jobs/{id}`, answer
its review at `POST /jobs/{id}/review`, and read its result. Every call carries a key in
`X-API-Key` (press **Authorize**). Whatever goes wrong is told as `application/problem+json` (RFC
9457): `retryable` says whether the same request may succeed later.
"""
TAGS = [
    {"name": "jobs", "description": "Submit, list, read and cancel jobs."},
    {"name": "events", "description": "What happens to a job, as it happens."},
    {"name": "review", "description": "A person's decision on a job that waits for one."},
    {"name": "files", "description": "A job's workspace as it stands now."},
    {
        "name": "artifacts",
        "description": "Files that runs and tools have made, and the whole outputs of runs.",
    },
    {"name": "numbers", "description": "What jobs add up to, by day."},
    {"name": "keys", "description": "API keys and tenants: who may do what, and spend what."},
    {"name": "system", "description": "Whether all is well, and what is not."},
]


def responses(*kinds: Kind) -> dict[int | str, dict[str, Any]]:
    """The problems that a route with a key can answer with: these, and those that all can."""
    return refusals(*kinds, *_ALWAYS)


def refusals(*kinds: Kind) -> dict[int | str, dict[str, Any]]:
    """These problems alone, by status."""
    found: dict[int | str, dict[str, Any]] = {}
    for kind in kinds:
        known = found.get(kind.status)
        text = f"{known['description']} / {kind.title}" if known else kind.title
        found[kind.status] = {
            "description": text,
            "content": {MEDIA_TYPE: {"schema": {"$ref": f"{_REF}Problem"}}},
        }
    return dict(sorted(found.items(), key=lambda item: str(item[0])))


def body_responses(*kinds: Kind) -> dict[int | str, dict[str, Any]]:
    """The problems that a route with a key and a body can answer with."""
    return responses(*kinds, *_BODY)


def with_body(model: type[BaseModel]) -> dict[str, Any]:
    """`openapi_extra` of a route that reads its body as `model`."""
    schema = {"$ref": f"{_REF}{model.__name__}"}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


def install(app: FastAPI) -> None:
    """Have /openapi.json tell all of it."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _schema(app)
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def _schema(app: FastAPI) -> dict[str, Any]:
    schema = get_openapi(
        title=app.title,
        version=app.version,
        description=app.description,
        routes=app.routes,
        tags=app.openapi_tags,
    )
    pairs = [(model, "validation") for model in _MODELS]
    _, ours = models_json_schema(pairs, ref_template=_REF + "{model}")  # type: ignore[arg-type]
    components = schema.setdefault("components", {}).setdefault("schemas", {})
    components.update(ours["$defs"])
    return schema

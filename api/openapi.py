"""The parts of /openapi.json that FastAPI does not derive: request bodies, problems, headers."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from json import dumps
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from api import problems
from api.problems import MEDIA_TYPE, ProblemDefinition
from api.schemas.fields import RequestModel
from api.schemas.problem import Problem
from jobs.model import review_data
from jobs.model.event_data import KINDS
from jobs.model.field_docs import field_docs

_REF = "#/components/schemas/"
_ALWAYS = (
    problems.UNAUTHORIZED,
    problems.FORBIDDEN,
    problems.INVALID,
    problems.RATE_LIMITED,
    problems.INTERNAL,
    problems.STORE_UNAVAILABLE,
    problems.OUTCOME_UNKNOWN,
)
HEADERS = {
    "X-Request-Id": "the request's id, as in the log",
    "Location": "the job's path",
    "Idempotency-Replayed": "`true` where the Idempotency-Key belongs to an earlier job",
    "ETag": "the digest of the bytes, for If-None-Match",
    "Content-Disposition": "the file's name",
    "X-Total-Count": "the total number of rows",
    "X-Next-Cursor": "the `cursor` of the next page; absent on the last page",
    "Retry-After": "seconds to wait before the same request",
    "WWW-Authenticate": "how to send a key",
}
"""The headers of answers that clients read, and their meaning."""
_OF_STATUS = {"401": "WWW-Authenticate", "429": "Retry-After", "503": "Retry-After"}
_BODY = (problems.TOO_SLOW, problems.TOO_LARGE, problems.MEDIA_TYPE_REFUSED)
ABOUT = """
Fettle takes a coding task in plain English and hands back code that has been run.

Send a task to `POST /jobs`, follow it at `GET /jobs/{id}/events` or poll `GET /jobs/{id}`, answer
its review at `POST /jobs/{id}/review`, and read its result. Every call carries a key in
`X-API-Key`, or as `Authorization: Bearer KEY` (press **Authorize**). Every error is an
`application/problem+json` (RFC 9457). Its `retryable` is true where the same request may succeed
later.
"""
TAGS = [
    {"name": "jobs", "description": "Submit, list, read, cancel and delete jobs."},
    {"name": "events", "description": "A job's events, as they happen."},
    {"name": "review", "description": "A person's decision on a job that waits for one."},
    {"name": "audit", "description": "The log of decisions, keys and sign-ins, for auditors."},
    {"name": "files", "description": "A job's workspace as it stands now."},
    {
        "name": "artifacts",
        "description": "Files that runs and tools made, and the complete outputs of runs.",
    },
    {"name": "stats", "description": "Totals over jobs, by day."},
    {"name": "keys", "description": "API keys and tenants: their scopes and spending limits."},
    {"name": "system", "description": "The state of the deployment."},
]


def responses(*kinds: ProblemDefinition) -> dict[int | str, dict[str, Any]]:
    """The problems of a route with a key: these problems, and the problems of all such routes."""
    return refusals(*kinds, *_ALWAYS)


def refusals(*kinds: ProblemDefinition) -> dict[int | str, dict[str, Any]]:
    """Only these problems, by status."""
    by_status: dict[int | str, dict[str, Any]] = {}
    for kind in kinds:
        earlier = by_status.get(kind.status)
        text = f"{earlier['description']} / {kind.title}" if earlier else kind.title
        by_status[kind.status] = {
            "description": text,
            "content": {MEDIA_TYPE: {"schema": {"$ref": f"{_REF}Problem"}}},
        }
    return dict(sorted(by_status.items(), key=lambda item: str(item[0])))


def body_responses(*kinds: ProblemDefinition) -> dict[int | str, dict[str, Any]]:
    """The problems of a route with a key and a body."""
    return responses(*kinds, *_BODY)


def headers(*names: str) -> dict[str, Any]:
    """Headers of a response."""
    return {name: {"description": HEADERS[name], "schema": {"type": "string"}} for name in names}


def makes_job() -> dict[int | str, dict[str, Any]]:
    """The 202 of a route that creates a job."""
    return {202: {"headers": headers("Location", "Idempotency-Replayed")}}


BINARY = "application/octet-stream"
"""Described after a rarer media type of bytes. Generators of clients know few media types, and give
an operation without a known media type no result."""


def download(description: str, *media_types: str) -> dict[int | str, dict[str, Any]]:
    """The responses of a download with the digest of its bytes as ETag."""
    schema = {"schema": {"type": "string", "format": "binary"}}
    return {
        200: {
            "description": description,
            "content": dict.fromkeys(media_types, schema),
            "headers": headers("ETag", "Content-Disposition"),
        },
        304: {
            "description": "You have these bytes already (If-None-Match)",
            "headers": headers("ETag"),
        },
    }


def conditional() -> dict[str, Any]:
    """`openapi_extra` of a route that answers 304 to If-None-Match."""
    schema = {"anyOf": [{"type": "string"}, {"type": "null"}]}
    about = "ETags of what you have"
    parameter = {"name": "if-none-match", "in": "header", "required": False, "description": about}
    return {"parameters": [{**parameter, "schema": schema}]}


def as_table(description: str, *names: str) -> dict[int | str, dict[str, Any]]:
    """The 200 of a route that can answer with CSV, and the headers of the CSV."""
    content = {"text/csv": {"schema": {"type": "string"}}}
    download_headers = headers("Content-Disposition", *names)
    return {200: {"description": description, "content": content, "headers": download_headers}}


def _request_models(
    paths: str, base: type[RequestModel] = RequestModel
) -> Iterator[type[RequestModel]]:
    """The models of the bodies to which `paths` refers (JSON)."""
    for model in base.__subclasses__():
        if f'"{_REF}{model.__name__}"' in paths:
            yield model
        yield from _request_models(paths, model)


def with_body(
    model: type[BaseModel], *, required: bool = True, files: bool = False
) -> dict[str, Any]:
    """`openapi_extra` of a route that reads its body as `model`; with `files`, also as a part of a
    form that has the files as its other parts."""
    schema = {"$ref": f"{_REF}{model.__name__}"}
    content: dict[str, Any] = {"application/json": {"schema": schema}}
    if files:
        file = {"type": "string", "format": "binary"}
        sent = {"job": schema, "files": {"type": "array", "items": file}, "bundle": file}
        form = {"type": "object", "required": ["job"], "properties": sent}
        content["multipart/form-data"] = {
            "schema": form,
            "encoding": {"job": {"contentType": "application/json"}},
        }
    return {"requestBody": {"required": required, "content": content}}


def install(app: FastAPI) -> None:
    """Add these parts to /openapi.json. The document is made once, at its first request."""

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
    models = (Problem, *_request_models(dumps(schema["paths"])))
    pairs = [(model, "validation") for model in models]
    _, schemas = models_json_schema(pairs, ref_template=_REF + "{model}")  # type: ignore[arg-type]
    components = schema.setdefault("components", {}).setdefault("schemas", {})
    components.update(schemas["$defs"])
    _name_kinds(components)
    _describe_fields(components)
    components["Event"] = components.pop("Event")  # after its parts, for generators
    for path in schema["paths"].values():
        for operation in path.values():
            for status, answer in operation["responses"].items():
                _add_headers(status, answer)
    return schema


def _name_kinds(components: dict[str, Any]) -> None:
    """Add the enumerations of problem types and event kinds."""
    components["EventKind"] = {"type": "string", "enum": list(KINDS)}
    types = [kind.type for kind in problems.KINDS.values()]
    names = [name.upper().replace("-", "_") for name in problems.KINDS]
    components["ProblemType"] = {"type": "string", "enum": types, "x-enum-varnames": names}
    for name in ("Problem", "ProblemKind"):
        components[name]["properties"]["type"] = {"$ref": f"{_REF}ProblemType"}


def _describe_fields(components: dict[str, Any]) -> None:
    """Add the docstrings of the fields of event data."""
    modules = {sys.modules[data.__module__] for data in KINDS.values()}
    for module in (*modules, review_data):
        for name, docs in field_docs(module).items():
            properties = components.get(name, {}).get("properties", {})
            for field in docs.keys() & properties.keys():
                properties[field].setdefault("description", docs[field])


def _add_headers(status: str, answer: dict[str, Any]) -> None:
    more = [_OF_STATUS[status]] if status in _OF_STATUS else []
    answer["headers"] = {**headers("X-Request-Id", *more), **answer.get("headers", {})}

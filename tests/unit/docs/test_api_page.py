"""docs/api.md has every endpoint with its scope, every field, every error and every event kind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NotRequired, get_args, get_origin, get_type_hints

from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from support.cases.markdown_pages import REPOSITORY, table_after

from api import problems
from api.app import ROUTES
from api.auth.caller import Admin, AnyKey, Operator, Overseer, Reader, Reviewer, Submitter
from api.routes.downloads import Downloader
from api.schemas.job_request import JobRequest
from jobs.model.event_data import KINDS

PAGE = REPOSITORY / "docs" / "api.md"
SCOPES = {
    Submitter: "`submit`",
    Reader: "`read`",
    Reviewer: "`review`",
    Admin: "`admin`",
    Operator: "operator",
    Overseer: "`read` or `admin`",
    Downloader: "`read`",
    AnyKey: "any",
}
BY_DEPENDENCY = {get_args(caller)[1].dependency: scope for caller, scope in SCOPES.items()}


def calls_of(dependant: Dependant) -> Iterator[Any]:
    yield dependant.call
    for dependency in dependant.dependencies:
        yield from calls_of(dependency)


def scope_of(route: APIRoute) -> str:
    scopes = [BY_DEPENDENCY[call] for call in calls_of(route.dependant) if call in BY_DEPENDENCY]
    return scopes[0] if scopes else "none"


def test_the_page_has_every_endpoint_with_its_scope() -> None:
    routes = [route for resource in ROUTES for route in resource.router.routes]
    offered = {
        (f"`{method} {route.path.replace(':path', '')}`", scope_of(route))
        for route in routes
        if isinstance(route, APIRoute) and route.include_in_schema
        for method in route.methods
    }
    written = [(row[0], row[1]) for row in table_after(PAGE, "## Endpoints")]
    assert set(written) == offered
    assert len(written) == len(offered)


def test_the_page_has_every_field_of_a_job() -> None:
    rows = table_after(PAGE, "## A job's request")
    written = [name.strip(" `") for row in rows for name in row[0].split(",")]
    assert sorted(written) == sorted(JobRequest.model_fields)


def test_the_page_has_every_error() -> None:
    catalogue = {
        (f"`{kind.type}`", str(kind.status), "yes" if kind.retryable else "no")
        for kind in problems.KINDS.values()
    }
    assert {tuple(row) for row in table_after(PAGE, "## Errors")} == catalogue


def test_the_page_has_every_event_kind_with_its_data() -> None:
    declared = {}
    for kind, data in KINDS.items():
        hints = get_type_hints(data, include_extras=True)
        declared[f"`{kind}`"] = ", ".join(
            f"`{name}`?" if get_origin(hint) is NotRequired else f"`{name}`"
            for name, hint in hints.items()
        )
    assert {row[0]: row[2] for row in table_after(PAGE, "## Events")} == declared

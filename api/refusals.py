"""The exception handlers: failures of the store and refusals of the domain become problems."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import structlog
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Match, Route

from api import problems
from api.http.field_errors import invalid
from api.pages import error_pages
from api.problems import ProblemDefinition, RefusedRequest, problem_response
from jobs.blobs.directory import describe_os_error
from jobs.errors import (
    BlobMissing,
    BlobsUnavailable,
    Contended,
    StoreFull,
    StoreRefused,
    StoreUnavailable,
)
from jobs.model.fleet import FleetUnreadable
from jobs.transitions.lifecycle import Refusal

log = structlog.get_logger(__name__)

RETRY_SECONDS = "2"
FULL_SECONDS = "30"
_READS = ("GET", "HEAD")
_BY_STATUS = {
    400: problems.BAD_REQUEST,
    404: problems.NOT_FOUND,
    405: problems.METHOD_NOT_ALLOWED,
}
_BY_CODE = {
    "unknown": problems.NOT_FOUND,
    "final": problems.WRONG_STATE,
    "no_open_review": problems.NO_OPEN_REVIEW,
    "stale_review": problems.STALE_REVIEW,
    "own_approval": problems.OWN_APPROVAL,
    "voted_already": problems.VOTED_ALREADY,
    "review_rule": problems.REVIEW_RULE,
    "override_needed": problems.OVERRIDE_NEEDED,
    "not_offered": problems.NOT_OFFERED,
    "key_reused": problems.KEY_REUSED,
}

FAILURES: tuple[type[Exception], ...] = (
    RefusedRequest,
    BlobsUnavailable,
    StoreUnavailable,
    OSError,
    Contended,
    FleetUnreadable,
    BlobMissing,
)
"""The errors of a request that have a problem of their own."""


def from_refusal(refusal: Refusal, **more: Any) -> RefusedRequest:
    """The problem for a refusal of the domain. `state` is the job's status, if that is the
    reason."""
    kind = _BY_CODE.get(refusal.code, problems.WRONG_STATE)
    if refusal.status is not None:
        more["state"] = str(refusal.status)
    return RefusedRequest(kind, refusal.detail, more)


def install(app: FastAPI, routes: Sequence[BaseRoute]) -> None:
    """Answer every failure with a problem. `routes` are all routes of the application."""

    async def fail(request: Request, error: Exception) -> Response:
        return _answer(request, refusal_of(request, error))

    for kind in FAILURES:
        app.add_exception_handler(kind, fail)

    @app.exception_handler(RequestValidationError)
    async def _invalid(request: Request, error: RequestValidationError) -> Response:
        return _answer(request, invalid(error.errors()))

    @app.exception_handler(HTTPException)
    async def _http(request: Request, error: HTTPException) -> Response:
        return _answer(request, _of_http(request, error, routes))


def refusal_of(request: Request, error: Exception) -> RefusedRequest:
    """The problem for one of FAILURES."""
    match error:
        case RefusedRequest():
            return error
        case BlobsUnavailable():
            log.error("storage unavailable", error=str(error))
            # the error has the address of the bucket, or a path
            detail = f"the artifact store fails: {error.reason}"
            return _retry_later(problems.STORAGE_UNAVAILABLE, detail)
        case StoreUnavailable():
            is_full = isinstance(error, StoreFull)
            log.warning("store full" if is_full else "store unavailable", error=str(error))
            # the error names the server's address, which outsiders need not know
            return _store_away(request, error)
        case OSError():
            # Redis' errors are StoreUnavailable, so this error is the disk's.
            log.error("storage unavailable", error=str(error))
            cause = describe_os_error(error) or error.strerror or type(error).__name__
            return _retry_later(problems.STORAGE_UNAVAILABLE, f"the disk fails: {cause}")
        case Contended():
            return _retry_later(problems.CONTENDED, str(error))
        case FleetUnreadable():
            log.error("fleet settings unreadable", error=str(error))
            return RefusedRequest(problems.FLEET_UNREADABLE, "the record in Redis is damaged")
        case BlobMissing():
            return RefusedRequest(problems.BYTES_MISSING, str(error))
    raise error


def _answer(request: Request, refused: RefusedRequest) -> Response:
    if error_pages.is_page_request(request):
        return error_pages.answer(request, refused)
    return problem_response(refused, request.scope.get("request_id", ""))


def _of_http(request: Request, error: HTTPException, routes: Sequence[BaseRoute]) -> RefusedRequest:
    kind = _BY_STATUS.get(error.status_code, problems.BAD_REQUEST)
    headers = dict(error.headers or {})
    detail = str(error.detail)
    if kind is problems.NOT_FOUND and error_pages.is_page_request(request):
        detail = "there is no such page"
    elif kind is problems.NOT_FOUND:
        detail = "this path does not exist: /docs lists the paths"
    elif kind is problems.METHOD_NOT_ALLOWED:
        headers["Allow"] = allow = ", ".join(_methods(request, routes))
        detail = f"this path takes {allow}, not {request.method}"
    return RefusedRequest(kind, detail, headers=headers)


def _methods(request: Request, routes: Sequence[BaseRoute]) -> list[str]:
    """Every method of the path: the library lists the methods of one route only."""
    matches = [route for route in routes if route.matches(request.scope)[0] is not Match.NONE]
    methods = [route.methods or () for route in matches if isinstance(route, Route)]
    return sorted({name for names in methods for name in names})


def full(detail: str) -> RefusedRequest:
    """A 503 for lack of memory, which retention or an operator frees."""
    return RefusedRequest(problems.STORE_FULL, detail, headers={"Retry-After": FULL_SECONDS})


def _store_away(request: Request, error: StoreUnavailable) -> RefusedRequest:
    """The problem if Redis did not answer. A write may have been applied nevertheless, unless Redis
    refuses all writes."""
    if isinstance(error, StoreFull):
        return full("the job record has no memory left for this")
    if isinstance(error, StoreRefused):
        refused = f"Redis refuses writes, {error.cause}: nothing was written"
        return _retry_later(problems.STORE_UNAVAILABLE, refused)
    detail = "the job record did not answer"
    if request.method in _READS:
        return _retry_later(problems.STORE_UNAVAILABLE, detail)
    advice = "the request had no Idempotency-Key: read the state before you send it again"
    if "idempotency-key" in request.headers:
        advice = "send it again with the same Idempotency-Key to learn the outcome"
    return _retry_later(
        problems.OUTCOME_UNKNOWN, f"{detail}, and the request may have been carried out; {advice}"
    )


def _retry_later(kind: ProblemDefinition, detail: str) -> RefusedRequest:
    return RefusedRequest(kind, detail, headers={"Retry-After": RETRY_SECONDS})

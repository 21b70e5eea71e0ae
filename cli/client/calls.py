"""Calls of the service over HTTP.

Refusals raise `RequestRefused`; a missing answer and 5xx raise `Unreachable`; an answer that Fettle
would not send raises `NotFettle`. If a busy service asks for it (429 and 503 with Retry-After), a
call is repeated, unless a repetition may have a second effect: a POST is repeated only if it
cancels a job, or has an Idempotency-Key.
"""

from __future__ import annotations

import ipaddress
import time
from collections.abc import Callable, Mapping
from typing import Any, Self
from urllib.parse import quote

import httpx
from pydantic import BaseModel

from api.schemas.job import JobReceipt
from api.schemas.problem import Problem as ProblemModel
from cli.client.answers import AnswerSource, parse_object
from cli.client.events import PASSING
from cli.errors import (
    START_IT,
    BadSettings,
    CliError,
    NotFettle,
    RequestRefused,
    ServiceProblem,
    Unreachable,
)
from settings.reading.addresses import http_origin
from settings.starting.environment import unusable_proxies

TRIES = 4
MOST_WAIT_SECONDS = 20.0
TIMEOUT = httpx.Timeout(30.0, connect=5.0)
BUSY = frozenset({429, 503})


class Calls:
    """The service at `url`, called with one key. `tries`: how often a call is made if the service
    is busy."""

    def __init__(
        self,
        url: str,
        key: str,
        *,
        sleep: Callable[[float], None] = time.sleep,
        tries: int = TRIES,
    ) -> None:
        self.url = url.rstrip("/")
        self.key = key
        self._tries = tries
        self._sleep = sleep
        by_proxy = not _loopback(self.url)  # a proxy cannot reach this machine's loopback
        if by_proxy:
            _refuse_unusable_proxies()
        self._http = httpx.Client(
            base_url=self.url,
            headers={"X-API-Key": key, "User-Agent": "fettle-cli"},
            event_hooks={"request": [self._require_own_origin]},
            timeout=TIMEOUT,
            trust_env=by_proxy,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._http.close()

    def _require_own_origin(self, request: httpx.Request) -> None:
        """Raise CliError for a request to another server, which must not get the key. A link in an
        answer may lead there."""
        if http_origin(str(request.url)) != http_origin(self.url):
            raise CliError("the service's answer leads to another server", next_step=START_IT)

    def _json(
        self, model: type[BaseModel], essential: str | None, method: str, path: str, **request: Any
    ) -> dict[str, Any]:
        """The object of an answer, which has at least the field `essential`."""
        answer = self._send(method, path, **request)
        content = parse_object(self._source(answer), answer.text, model)
        if essential is not None:
            content[essential]  # raises NotFettle
        return content

    def _receipt(self, method: str, path: str, **request: Any) -> dict[str, Any]:
        return self._json(JobReceipt, "status", method, path, **request)

    def _void(self, method: str, path: str, status: int) -> None:
        """A call that the service answers with this status and no content."""
        answer = self._send(method, path)
        if answer.status_code != status or answer.content.strip(b"{}"):
            raise self._make_not_fettle(answer)

    def _source(self, answer: httpx.Response) -> AnswerSource:
        request = answer.request
        return AnswerSource(self.url, request.method, request.url.path)

    def _send(self, method: str, path: str, **request: Any) -> httpx.Response:
        is_idempotent = method != "POST" or path.endswith("/cancel")
        repeatable = is_idempotent or "Idempotency-Key" in request.get("headers", {})
        for tries_left in reversed(range(self._tries)):
            try:
                answer = self._http.request(method, path, **request)
            except httpx.TransportError as error:
                raise self._make_error(error) from None
            except httpx.DecodingError as error:
                source = AnswerSource(self.url, method, path)
                raise source.unexpected(f"cannot be decoded: {error}") from None
            if answer.is_success:
                return answer
            if answer.status_code not in BUSY or not tries_left or not repeatable:
                break
            self._sleep(_retry_after(answer))
        raise self._make_error(answer)

    def _make_error(self, answer: httpx.Response | httpx.TransportError) -> CliError:
        if isinstance(answer, httpx.TransportError):
            return self._unreachable(answer)
        problem = _problem(self._source(answer), answer)
        if problem is None:
            return self._make_not_fettle(answer)
        if answer.status_code in PASSING:
            return Unreachable(problem.title, problem.detail, "try again in a moment")
        return RequestRefused(problem)

    def _unreachable(self, error: httpx.TransportError) -> Unreachable:
        detail = "it did not answer in time" if isinstance(error, httpx.TimeoutException) else ""
        return Unreachable(f"no Fettle answers at {self.url}", detail, START_IT)

    def _make_not_fettle(self, answer: httpx.Response) -> NotFettle:
        media_type = answer.headers.get("content-type", "no type")
        return self._source(answer).unexpected(f"is HTTP {answer.status_code} with {media_type}")


def without_empty(query: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in query.items() if value not in (None, "")}


def job_path(job_id: str) -> str:
    return f"/jobs/{quote(job_id, safe='')}"


def _problem(source: AnswerSource, answer: httpx.Response) -> ServiceProblem | None:
    """The problem that an answer states; None if the answer is not a problem of the API."""
    try:
        content = parse_object(source, answer.text, ProblemModel)
        return ServiceProblem(
            status=answer.status_code,
            title=content["title"],
            detail=content.get("detail") or "",
            retryable=bool(content.get("retryable")),
            fields=tuple(f"{e['field']}: {e['message']}" for e in content.get("errors") or ()),
            path=answer.request.url.path,
            type=content["type"],
            limit=content.get("limit"),
        )
    except NotFettle:
        return None


def _retry_after(answer: httpx.Response) -> float:
    try:
        seconds = float(answer.headers.get("Retry-After", "1"))
    except ValueError:  # an HTTP date: no service of Fettle sends one
        seconds = 1.0
    return min(max(seconds, 0.1), MOST_WAIT_SECONDS)


def _refuse_unusable_proxies() -> None:
    for name, kind in unusable_proxies():
        raise BadSettings(
            f"{name} names a {kind} proxy",
            "Fettle can use http and https proxies only",
            "set HTTPS_PROXY to one of those, or unset it",
        )


def _loopback(url: str) -> bool:
    host = httpx.URL(url).host
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"

"""The connection to a service: its address, its key, and requests over HTTP.

A problem of the service raises `ApiError`, a missing answer `ServiceUnreachable`, and an answer
that Fettle would not send `NotFettle`. A request is repeated if a busy service asks for it (429
and 503 with Retry-After), or if the connection is lost; but not if a repetition may have a second
effect: a POST is repeated only if it cancels a job, or has an Idempotency-Key.
"""

from __future__ import annotations

import asyncio
import math
import os
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Self
from urllib.parse import quote

import httpx
from pydantic import BaseModel

from fettle import types
from fettle.addresses import is_loopback, origin_of, parse_address
from fettle.answers import AnswerSource, parse_object
from fettle.errors import (
    START_IT,
    ApiError,
    BadArgument,
    BadSettings,
    FettleError,
    NotFettle,
    ServiceUnreachable,
)
from fettle.problems import TYPES

DEFAULT_URL = "http://127.0.0.1:8000"
DEVELOPMENT_KEY = "fettle-development-key"
"""The key of a service without another key, which listens on loopback only."""
TRIES = 4
MOST_WAIT_SECONDS = 20.0
LOST_SECONDS = 0.5
"""The wait before a request is repeated because the connection was lost."""
TIMEOUT = 30.0
"""Seconds without a byte of the answer, after which a request has failed."""
CONNECT_TIMEOUT = 5.0
LEAST_TIMEOUT = 1.0
"""The time that a request has at the end of the caller's time."""
BUSY = frozenset({429, 503})
LOST = (httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError)
AWAY = (*LOST, httpx.ConnectError)
"""The errors that pass when a service has been there, and starts again."""
EXCERPT = 20
"""The characters on each side of a wrong character that an error shows."""


class AsyncTransport:
    """The service at `url`, called with one key.

    Without `url` and `api_key`, FETTLE_URL and FETTLE_API_KEY name them; without these variables,
    they are those of `fettle up` on this machine. `http` makes the requests, and its owner closes
    it. `tries`: how often a request is made at most. Raises BadSettings.
    """

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        *,
        http: httpx.AsyncClient | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        tries: int = TRIES,
    ) -> None:
        self.url = (url or os.environ.get("FETTLE_URL") or DEFAULT_URL).rstrip("/")
        self.key = api_key or os.environ.get("FETTLE_API_KEY") or DEVELOPMENT_KEY
        address = parse_address(self.url)
        self._origin = origin_of(address)
        self._auth: dict[str, Any] = {}
        if address.userinfo:  # errors and pages show the address, so it has no password
            self._auth = {"auth": (address.username, address.password)}
            self.url = str(address.copy_with(userinfo=b"")).rstrip("/")
        if not _fits_header(self.key):
            text = "FETTLE_API_KEY has characters that no key has"
            raise BadSettings("the key cannot be used", text, "copy the key again")
        self._tries = tries
        self.sleep = sleep
        self._owns_http = http is None
        self._http = http or self._connections()

    def _connections(self) -> httpx.AsyncClient:
        try:
            # A proxy cannot reach the loopback of this machine.
            return httpx.AsyncClient(trust_env=not is_loopback(self.url))
        except (ImportError, ValueError, httpx.InvalidURL):  # these errors repeat the address
            raise BadSettings(
                "a proxy of HTTP_PROXY, HTTPS_PROXY or ALL_PROXY cannot be used",
                "the client can use http and https proxies only",
                "set HTTPS_PROXY to one of those, or unset it",
            ) from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections."""
        if self._owns_http:
            await self._http.aclose()

    @asynccontextmanager
    async def stream(
        self,
        method: str,
        path: str,
        timeout: float = TIMEOUT,
        *,
        until: float = math.inf,
        **request: Any,
    ) -> AsyncIterator[httpx.Response]:
        """Send one request; the body of the answer is not read yet. Only the service's own origin
        gets the key: a path that is a link of an answer may lead elsewhere. No name in a path may
        lead to another call. `until`: the monotonic time at which the caller's time ends. Raises
        httpx.TransportError."""
        if not {".", ".."}.isdisjoint(path.partition("?")[0].split("/")):
            raise FettleError("a name in a path cannot be `.` or `..`", path)
        link = httpx.URL(path)
        url = link if link.is_absolute_url else httpx.URL(self.url + path)
        if origin_of(url) != self._origin:
            raise FettleError("the service's answer leads to another server", remedy=START_IT)
        headers = {
            "User-Agent": "fettle-client",
            **request.pop("headers", {}),
            "X-API-Key": self.key,
        }
        seconds = min(timeout, max(until - time.monotonic(), 0) + LEAST_TIMEOUT)
        limits = httpx.Timeout(seconds, connect=min(seconds, CONNECT_TIMEOUT))
        try:
            built = self._http.build_request(
                method, url, headers=headers, timeout=limits, **request
            )
        except UnicodeEncodeError as problem:
            raise _bad_text(problem) from None
        except ValueError as problem:  # NaN
            raise BadArgument("the request cannot be written as JSON", str(problem)) from None
        answer = await self._http.send(built, stream=True, follow_redirects=False, **self._auth)
        try:
            yield answer
        finally:
            await answer.aclose()

    async def send(
        self, method: str, path: str, *, until: float = math.inf, **request: Any
    ) -> httpx.Response:
        """The complete answer to a request that the service carried out; `until` as in `stream`.
        Raises FettleError."""
        is_idempotent = method != "POST" or path.endswith("/cancel")
        repeatable = is_idempotent or "Idempotency-Key" in request.get("headers", {})
        passing: tuple[type[httpx.TransportError], ...] = LOST
        for tries_left in reversed(range(self._tries)):
            seconds = LOST_SECONDS * 2 ** (self._tries - 1 - tries_left)
            try:
                async with self.stream(method, path, until=until, **request) as answer:
                    await answer.aread()
                if answer.is_success:
                    return answer
                seconds = _retry_after(answer)
                error: FettleError = self.refusal(self.source(method, path), answer)
                passes = answer.status_code in BUSY
                passing = AWAY
            except httpx.TransportError as broken:
                error = self.unreachable(broken)
                passes = isinstance(broken, passing)
                passing = AWAY
            except httpx.DecodingError as wrong:
                raise self.source(method, path).unexpected(f"cannot be decoded: {wrong}") from None
            seconds = min(seconds, until - time.monotonic())
            if not (passes and tries_left and repeatable and seconds > 0):
                break
            await self.sleep(seconds)
        raise error

    async def json(
        self, model: type[BaseModel], essential: str | None, method: str, path: str, **request: Any
    ) -> dict[str, Any]:
        """The object of an answer, which has at least the field `essential`."""
        answer = await self.send(method, path, **request)
        content = parse_object(self.source(method, path), answer.text, model)
        if essential is not None:
            content[essential]  # raises NotFettle
        return content

    async def json_list(
        self, model: type[BaseModel], field: str, method: str, path: str, **request: Any
    ) -> Sequence[Mapping[str, Any]]:
        """The objects in the field of an answer."""
        answer = await self.json(model, field, method, path, **request)
        objects: Sequence[Mapping[str, Any]] = answer[field]
        return objects

    async def receipt(self, path: str, **request: Any) -> dict[str, Any]:
        """The answer to a change of a job: {id, kind, status, version, links}."""
        return await self.json(types.JobReceipt, "status", "POST", path, **request)

    async def void(self, method: str, path: str, status: int) -> None:
        """A call that the service answers with this status and no content."""
        answer = await self.send(method, path)
        if answer.status_code != status or answer.content.strip(b"{}"):
            raise _not_fettle(self.source(method, path), answer)

    def source(self, method: str, path: str) -> AnswerSource:
        """The origin of an answer, for errors."""
        return AnswerSource(self.url, method, path)

    def refusal(self, source: AnswerSource, answer: httpx.Response) -> FettleError:
        """The error for an answer that is not a success."""
        try:
            problem = parse_object(source, answer.text, types.Problem)
            kind = TYPES.get(problem["type"], ApiError)
            title = {"title": problem["title"], "status": answer.status_code}
            return kind({**problem, **title}, source.path)
        except NotFettle:
            return _not_fettle(source, answer)

    def unreachable(self, error: httpx.TransportError) -> ServiceUnreachable:
        """The error for a request without an answer."""
        is_late = isinstance(error, httpx.TimeoutException)
        detail = "it did not answer in time" if is_late else str(error)
        return ServiceUnreachable(f"no Fettle answers at {self.url}", detail, START_IT)


def without_empty(query: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters that have a value."""
    return {name: value for name, value in query.items() if value not in (None, "")}


def idempotency(once: str | None = None) -> dict[str, str]:
    """The header with this Idempotency-Key, by default with a new key. Raises FettleError."""
    key = once or secrets.token_hex(16)
    if not _fits_header(key):
        raise BadArgument("an Idempotency-Key has printable ASCII characters only", ascii(key))
    return {"Idempotency-Key": key}


def _fits_header(value: str) -> bool:
    return value.isascii() and value.isprintable() and value == value.strip()


def path_part(name: str, safe: str = "") -> str:
    """A name as a part of a path. It cannot change the rest of the path. Raises BadArgument."""
    try:
        return quote(name, safe)
    except UnicodeEncodeError as problem:
        raise _bad_text(problem) from None


def _bad_text(problem: UnicodeEncodeError) -> BadArgument:
    """The error for half of a surrogate pair. Python has it for a byte that is not UTF-8."""
    excerpt = problem.object[max(problem.start - EXCERPT, 0) : problem.end + EXCERPT]
    title = "a text of the request is not valid Unicode"
    return BadArgument(title, ascii(excerpt), "replace the bytes that are not UTF-8")


def job_path(job_id: str) -> str:
    """The path of a job."""
    return f"/jobs/{path_part(job_id)}"


def _not_fettle(source: AnswerSource, answer: httpx.Response) -> NotFettle:
    media_type = answer.headers.get("content-type", "no type")
    target = f", which leads to {link}" if (link := answer.headers.get("location")) else ""
    return source.unexpected(f"is HTTP {answer.status_code} with {media_type}{target}")


def _retry_after(answer: httpx.Response) -> float:
    try:
        seconds = float(answer.headers.get("Retry-After", "1"))
    except ValueError:  # an HTTP date: no service of Fettle sends one
        seconds = 1.0
    return max(min(MOST_WAIT_SECONDS, seconds), 0.1)  # not a number: the longest time

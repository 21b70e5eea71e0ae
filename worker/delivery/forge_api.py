"""ForgeApi: requests to a forge's API with the operator's token.

Requests go to checked addresses of the host of the API. A redirect is followed only on that host,
so that no other host gets the token.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any, Final

import httpx

from agents.errors import ToolRefused
from agents.models.error_mapping.error_body import retry_after_seconds
from worker.egress.hosts import authority
from worker.egress.transport import Response, Transport, TransportError
from worker.repositories.errors import DeliveryRefused, DeliveryUnavailable, printable

SECONDS: Final = 30.0
"""The longest time of a request."""
MAX_BYTES: Final = 4 * 1024 * 1024
MAX_REDIRECTS: Final = 2
MAX_PAUSE_SECONDS: Final = 3_600.0
"""The longest pause that a forge may request."""
LIMITED_SECONDS: Final = 60.0
"""The pause after a rate limit if the forge names no pause: GitHub requires at least a minute."""
_TEMPORARY = frozenset({408, 423, 425, 429})
"""Statuses below 500 of temporary failures: a timeout, a lock, an early request, a limit."""
_LIMIT = re.compile("rate limit|abuse detection", re.IGNORECASE)
"""Older GitHub servers call a secondary limit an abuse detection mechanism."""
_CREDENTIAL = "(FETTLE_REPO_CREDENTIALS)"


@dataclass(frozen=True, slots=True)
class ApiResponse:
    """A response of a forge."""

    status: int
    content: Any
    """The JSON; None if the body is not JSON."""

    @property
    def message(self) -> str:
        """The forge's reason for a refusal, in its own words."""
        content = self.content if isinstance(self.content, dict) else {}
        parts = [content[name] for name in ("message", "error", "errors") if content.get(name)]
        return printable(
            "; ".join(part if isinstance(part, str) else _json(part) for part in parts)
        )


@dataclass(frozen=True, slots=True)
class ForgeApi:
    """Sends requests to the API of one forge."""

    address: str
    """The URL of the API, without a slash at the end."""
    headers: Mapping[str, str] = field(repr=False)
    """The headers with the token."""
    private: bool
    """Whether addresses of an intranet are allowed."""

    async def get(self, path: str, query: Mapping[str, str]) -> ApiResponse:
        """Send a GET request. Raises DeliveryRefused, also for a status other than 200."""
        url = httpx.URL(f"{self.address}{path}", params=query)
        return self.require_ok(await self._send("GET", url))

    async def post(self, path: str, content: Mapping[str, Any]) -> ApiResponse:
        """Send a POST request; the response may be a refusal. Raises DeliveryRefused."""
        return await self._send("POST", httpx.URL(f"{self.address}{path}"), _json(content).encode())

    def require_ok(self, response: ApiResponse) -> ApiResponse:
        """The response, if its status is 200. Raises DeliveryRefused with the forge's words."""
        if response.status != 200:
            raise DeliveryRefused(f"{self.address} answered {response.status}: {response.message}")
        return response

    async def _send(self, method: str, url: httpx.URL, body: bytes | None = None) -> ApiResponse:
        transport = Transport(SECONDS, MAX_BYTES, private=self.private, max_redirects=MAX_REDIRECTS)
        media_type = {} if body is None else {"Content-Type": "application/json"}
        headers = {"Accept": "application/json", **media_type, **self.headers}
        try:
            response = await transport.send(method, url, headers, body, check_url=self._check_host)
        except TransportError as error:
            raise DeliveryUnavailable(f"{self.address} {error}") from None
        except ToolRefused as error:
            raise DeliveryRefused(f"{self.address} cannot be reached: {error}") from None
        api_response = ApiResponse(response.head.status, _parse(response))
        self._check(api_response, response.head.headers)
        return api_response

    def _check_host(self, url: httpx.URL) -> None:
        """Raise DeliveryRefused for a redirect to another host, which must not get the token."""
        api = httpx.URL(self.address)
        if (url.scheme, authority(url)) != (api.scheme, authority(api)) or url.userinfo:
            raise DeliveryRefused(f"{self.address} redirects to another host: name that host")

    def _check(self, response: ApiResponse, headers: httpx.Headers) -> None:
        """Raise for the failures of all requests: an outage, a limit, a credential."""
        answered = f"{self.address} answered {response.status}"
        message = f": {response.message}" if response.message else ""
        if (seconds := _pause(response, headers)) is not None:
            raise DeliveryUnavailable(answered + message, min(seconds, MAX_PAUSE_SECONDS))
        match response.status:
            case 401:
                reason = f"the operator's credential is wrong, or has run out {_CREDENTIAL}"
            case 403:
                reason = f"the operator's credential does not allow it {_CREDENTIAL}"
            case 404:
                reason = f"it has no such repository for the operator's credential {_CREDENTIAL}"
            case _:
                return
        raise DeliveryRefused(f"{answered}, {reason}{message}")


def _pause(response: ApiResponse, headers: httpx.Headers) -> float | None:
    """The seconds after which the same request may succeed; None if the response is final. GitHub
    answers 403 for its rate limits; a secondary limit may have no header that names it. Source:
    docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api."""
    seconds = retry_after_seconds(headers, {})
    exhausted = headers.get("x-ratelimit-remaining") == "0"
    limited = exhausted or _LIMIT.search(response.message) is not None
    if "retry-after" in headers and response.status >= 400:
        return MAX_PAUSE_SECONDS if seconds is None else seconds
    if response.status in {403, 429} and limited:
        return _until_reset(headers) if exhausted else LIMITED_SECONDS
    return 0.0 if response.status >= 500 or response.status in _TEMPORARY else None


def _until_reset(headers: httpx.Headers) -> float:
    """Seconds until the limit ends, by the forge's own clock."""
    try:
        now = parsedate_to_datetime(headers["date"]).timestamp()
        return max(0.0, float(headers["x-ratelimit-reset"]) - now)
    except (KeyError, ValueError, OverflowError):
        return LIMITED_SECONDS


def _parse(response: Response) -> Any:
    """The JSON of a response; None if the body is not JSON, or too large."""
    if response.is_cut:
        return None
    try:
        return json.loads(response.body)
    except (ValueError, RecursionError):
        return None


def _json(content: Any) -> str:
    return json.dumps(content, ensure_ascii=True)

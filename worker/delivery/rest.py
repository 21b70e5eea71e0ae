"""Rest: requests to a forge's API with the operator's token.

They go to checked addresses of the one host of the API, and a redirect is followed there alone, so
that the token goes nowhere else.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any, Final

import httpcore
import httpx

from agents.errors import ToolRefused
from agents.models.error_mapping.retry_after import retry_after_seconds
from worker.delivery.errors import DeliveryRefused, DeliveryUnavailable
from worker.egress.connect import Pinned, requested, resolved
from worker.egress.hosts import authority
from worker.repositories.errors import printable

SECONDS: Final = 30.0
"""The longest time of a request."""
MOST_BYTES: Final = 4 * 1024 * 1024
HOPS: Final = 3
MOST_ASKED_SECONDS: Final = 3_600.0
"""The longest pause that a forge may ask for."""
LIMITED_SECONDS: Final = 60.0
"""The pause after a rate limit if the forge names none: GitHub wants a minute at least."""
_TEMPORARY = frozenset({408, 423, 425, 429})
"""Statuses below 500 that pass: a timeout, a lock, an early request, a limit."""
_LIMIT = re.compile("rate limit|abuse detection", re.IGNORECASE)
"""In a forge's words. Older GitHub servers call a secondary limit an abuse detection mechanism."""
_REDIRECTS = frozenset({301, 302, 307, 308})
_GONE_WRONG = (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException, OSError)
_CREDENTIAL = "(FETTLE_REPO_CREDENTIALS)"


@dataclass(frozen=True, slots=True)
class Answer:
    """A forge's answer: its status, and its JSON (None where it is none)."""

    status: int
    content: Any

    @property
    def said(self) -> str:
        """Why the forge refuses, in its own words."""
        told = self.content if isinstance(self.content, dict) else {}
        parts = [told[name] for name in ("message", "error", "errors") if told.get(name)]
        return printable(
            "; ".join(each if isinstance(each, str) else _json(each) for each in parts)
        )


@dataclass(frozen=True, slots=True)
class Rest:
    """`address` is that of the API, without a last slash; `headers` have the token. `private` also
    allows addresses of an intranet."""

    address: str
    headers: Mapping[str, str] = field(repr=False)
    private: bool

    async def get(self, path: str, query: Mapping[str, str]) -> Answer:
        """Ask. Raises DeliveryRefused, also for a status that is no success."""
        answer = await self._asked("GET", httpx.URL(f"{self.address}{path}", params=query))
        return self.require(answer, 200)

    async def post(self, path: str, content: Mapping[str, Any]) -> Answer:
        """Send; the answer may be a refusal. Raises DeliveryRefused."""
        body = _json(content).encode()
        return await self._asked("POST", httpx.URL(f"{self.address}{path}"), body)

    def require(self, answer: Answer, status: int) -> Answer:
        """The answer, if it has this status. Raises DeliveryRefused with the forge's words."""
        if answer.status != status:
            raise DeliveryRefused(f"{self.address} answered {answer.status}: {answer.said}")
        return answer

    async def _asked(self, method: str, url: httpx.URL, body: bytes | None = None) -> Answer:
        try:
            async with asyncio.timeout(SECONDS):
                return await self._followed(method, url, body)
        except TimeoutError:
            raise DeliveryUnavailable(f"{self.address} took longer than {SECONDS:g} s") from None
        except ToolRefused as error:
            raise DeliveryRefused(f"{self.address} cannot be reached: {error}") from None
        except _GONE_WRONG as error:
            why = str(error) or type(error).__name__
            raise DeliveryUnavailable(f"{self.address} could not be reached: {why}") from None

    async def _followed(self, method: str, url: httpx.URL, body: bytes | None) -> Answer:
        home = (url.scheme, authority(url))
        for _ in range(HOPS):
            answer = await self._one(method, url, body)
            if isinstance(answer, Answer):
                return answer
            url = answer
            if (url.scheme, authority(url)) != home or url.userinfo:
                raise DeliveryRefused(f"{self.address} leads to another host: name that one")
        raise DeliveryRefused(f"{self.address} leads from one address to the next")

    async def _one(self, method: str, url: httpx.URL, body: bytes | None) -> Answer | httpx.URL:
        sent = {
            "Host": url.netloc.decode("ascii"),
            "User-Agent": "fettle",
            "Accept": "application/json",
            "Accept-Encoding": "identity",
            **({"Content-Type": "application/json"} if body is not None else {}),
            **({"Content-Length": str(len(body))} if body is not None else {}),
            **self.headers,
        }
        backend = Pinned(resolved, private=self.private)
        async with requested(method, url, sent, backend, body) as response:
            headers = httpx.Headers(response.headers)
            if response.status in _REDIRECTS and "location" in headers:
                try:
                    return url.join(headers["location"])
                except (httpx.InvalidURL, ValueError):
                    raise DeliveryRefused(f"{self.address} leads to what is no address") from None
            answer = Answer(response.status, await _read(response))
        self._check(answer, headers)
        return answer

    def _check(self, answer: Answer, headers: httpx.Headers) -> None:
        """Raise for what every request may meet: an outage, a limit, a credential."""
        what = f"{self.address} answered {answer.status}"
        said = f": {answer.said}" if answer.said else ""
        if (seconds := _pause(answer, headers)) is not None:
            raise DeliveryUnavailable(what + said, min(seconds, MOST_ASKED_SECONDS))
        match answer.status:
            case 401:
                why = f"the operator's credential is wrong, or has run out {_CREDENTIAL}"
            case 403:
                why = f"the operator's credential may not do it {_CREDENTIAL}"
            case 404:
                why = f"it has no such repository for the operator's credential {_CREDENTIAL}"
            case _:
                return
        raise DeliveryRefused(f"{what}, {why}{said}")


def _pause(answer: Answer, headers: httpx.Headers) -> float | None:
    """The seconds after which the same request may succeed; None if the answer is final. GitHub
    answers 403 for its rate limits; a secondary limit may have no header that names it. Source:
    docs.github.com/rest/using-the-rest-api/rate-limits-for-the-rest-api."""
    asked = retry_after_seconds(headers, {})
    exhausted = headers.get("x-ratelimit-remaining") == "0"
    limited = exhausted or _LIMIT.search(answer.said) is not None
    if "retry-after" in headers and answer.status >= 400:
        return MOST_ASKED_SECONDS if asked is None else asked
    if answer.status in {403, 429} and limited:
        return _until_reset(headers) if exhausted else LIMITED_SECONDS
    return 0.0 if answer.status >= 500 or answer.status in _TEMPORARY else None


def _until_reset(headers: httpx.Headers) -> float:
    """Seconds until the limit ends, by the forge's own clock."""
    try:
        now = parsedate_to_datetime(headers["date"]).timestamp()
        return max(0.0, float(headers["x-ratelimit-reset"]) - now)
    except (KeyError, ValueError, OverflowError):
        return LIMITED_SECONDS


async def _read(response: httpcore.Response) -> Any:
    content = bytearray()
    async for part in response.aiter_stream():
        content += part
        if len(content) > MOST_BYTES:
            return None
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def _json(content: Any) -> str:
    return json.dumps(content, ensure_ascii=True)

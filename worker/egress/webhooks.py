"""Endpoint: the operator's webhook, and one try to deliver a message to it, signed.

Redirects are not followed, no proxy of this machine's environment is used, and the connection goes
to a checked address: one that is not public is refused unless the operator allows it.

Signed as https://www.standardwebhooks.com says: HMAC-SHA256 over id, time and body, in base64,
after the scheme's version; one signature per secret, so that a receiver can change its secret.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import httpcore
import httpx

from agents.errors import ToolRefused
from jobs.model.codec import dump
from jobs.transitions.change import Delivery
from jobs.view.job import format_time
from settings.webhooks import WebhookSettings
from worker.egress.connect import Pinned, Resolver, requested, resolved

READ = 65_536
"""Bytes of an answer that are read: only its status counts."""
GONE = 410
PREFIX = "whsec_"


@dataclass(frozen=True)
class DeliveryFailed(Exception):
    """A message did not arrive. `gone`: the receiver answered 410, and wants no more tries."""

    why: str
    gone: bool = False

    def __str__(self) -> str:
        return self.why


@dataclass(frozen=True, slots=True)
class Endpoint:
    """`seconds` bounds a whole try; `private` also allows addresses of an intranet, and
    loopback."""

    url: httpx.URL
    keys: tuple[bytes, ...]
    seconds: float
    private: bool = False
    resolver: Resolver = field(default=resolved)

    async def deliver(self, delivery: Delivery, now_ms: int) -> None:
        """Deliver a message. Raises DeliveryFailed where it is not known to have arrived."""
        body = message(delivery)
        sent = {
            "Host": self.url.netloc.decode("ascii"),
            "User-Agent": "fettle",
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
            **headers(self.keys, delivery.id, now_ms // 1000, body),
        }
        try:
            async with asyncio.timeout(self.seconds):
                status = await self._post(sent, body)
        except TimeoutError:
            raise DeliveryFailed(f"no answer within {self.seconds:g} s") from None
        except ToolRefused as error:
            raise DeliveryFailed(str(error)) from None
        except (httpcore.NetworkError, httpcore.ProtocolError, OSError) as error:
            raise DeliveryFailed(str(error) or type(error).__name__) from None
        if not 200 <= status < 300:
            raise DeliveryFailed(f"it answered {status}", gone=status == GONE)

    async def _post(self, sent: dict[str, str], body: bytes) -> int:
        backend = Pinned(self.resolver, private=self.private)
        async with requested("POST", self.url, sent, backend, body) as response:
            read = 0
            async for part in response.aiter_stream():
                read += len(part)
                if read > READ:
                    break
            return int(response.status)


def message(delivery: Delivery) -> bytes:
    """The body: {type, timestamp, data}. The same at every try."""
    body = {
        "type": delivery.type,
        "timestamp": format_time(delivery.at),
        "data": dict(delivery.data),
    }
    return dump(body).encode()


def endpoint(settings: WebhookSettings) -> Endpoint | None:
    """None where there is no address."""
    if not settings.webhook_url:
        return None
    return Endpoint(
        httpx.URL(settings.webhook_url),
        tuple(key_of(secret) for secret in settings.webhook_secrets),
        settings.webhook_seconds,
        private=settings.webhook_private,
    )


def key_of(secret: str) -> bytes:
    """The key in a secret, `whsec_` and base64. Raises ValueError."""
    return base64.b64decode(secret.removeprefix(PREFIX), validate=True)


def headers(
    keys: Iterable[bytes], delivery_id: str, seconds: int, body: bytes
) -> Mapping[str, str]:
    """The three headers of a message that is sent at this time (seconds since the epoch)."""
    signed = b".".join((delivery_id.encode(), str(seconds).encode(), body))
    made = (hmac.new(key, signed, hashlib.sha256).digest() for key in keys)
    return {
        "webhook-id": delivery_id,
        "webhook-timestamp": str(seconds),
        "webhook-signature": " ".join(f"v1,{base64.b64encode(each).decode()}" for each in made),
    }

"""Endpoint: the operator's webhook, and one try to deliver a signed message to it.

Redirects are not followed. A message goes to a public address, unless the operator allows others.

Signatures follow https://www.standardwebhooks.com: HMAC-SHA256 over id, time and body, in base64,
after the scheme's version; one signature per secret, so that a receiver can change its secret.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import httpx

from agents.errors import ToolRefused
from jobs.model.codec import dump
from jobs.transitions.change import Delivery
from jobs.view.job import format_time
from settings.webhooks import WebhookSettings
from worker.egress.transport import Transport, TransportError

MAX_RESPONSE_BYTES = 65_536
"""Bytes of a response that are read. Only its status counts."""
STATUS_GONE = 410
PREFIX = "whsec_"


@dataclass(frozen=True)
class DeliveryFailed(Exception):
    """A message did not arrive."""

    reason: str
    is_final: bool = False
    """Whether the receiver answered 410: it wants no more tries."""

    def __str__(self) -> str:
        return self.reason


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The webhook's address, its signing keys, and the transport of its messages."""

    url: httpx.URL
    keys: tuple[bytes, ...]
    transport: Transport

    async def deliver(self, delivery: Delivery, now_ms: int) -> None:
        """Deliver a message. Raises DeliveryFailed if it may not have arrived."""
        body = message(delivery)
        signed = headers(self.keys, delivery.id, now_ms // 1000, body)
        try:
            response = await self.transport.send(
                "POST",
                self.url,
                {"Content-Type": "application/json", **signed},
                body,
                check_url=lambda _: None,
            )
        except TransportError as error:
            raise DeliveryFailed(f"the receiver {error}") from None
        except ToolRefused as error:
            raise DeliveryFailed(str(error)) from None
        status = response.head.status
        if not 200 <= status < 300:
            raise DeliveryFailed(f"the receiver answered {status}", is_final=status == STATUS_GONE)


def message(delivery: Delivery) -> bytes:
    """The body: {type, timestamp, data}. Equal in all tries."""
    body = {
        "type": delivery.type,
        "timestamp": format_time(delivery.at),
        "data": dict(delivery.data),
    }
    return dump(body).encode()


def webhook_endpoint(settings: WebhookSettings) -> Endpoint | None:
    """The operator's webhook; None if the settings have no address."""
    if not settings.webhook_url:
        return None
    return Endpoint(
        httpx.URL(settings.webhook_url),
        tuple(parse_key(secret) for secret in settings.webhook_secrets),
        Transport(settings.webhook_seconds, MAX_RESPONSE_BYTES, private=settings.webhook_private),
    )


def parse_key(secret: str) -> bytes:
    """The key in a secret, `whsec_` and base64. Raises ValueError."""
    return base64.b64decode(secret.removeprefix(PREFIX), validate=True)


def headers(
    keys: Iterable[bytes], delivery_id: str, seconds: int, body: bytes
) -> Mapping[str, str]:
    """The three headers of a message that is sent at `seconds` since the epoch."""
    signed = b".".join((delivery_id.encode(), str(seconds).encode(), body))
    digests = (hmac.new(key, signed, hashlib.sha256).digest() for key in keys)
    signatures = (f"v1,{base64.b64encode(digest).decode()}" for digest in digests)
    return {
        "webhook-id": delivery_id,
        "webhook-timestamp": str(seconds),
        "webhook-signature": " ".join(signatures),
    }

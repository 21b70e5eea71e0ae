"""Endpoint: the operator's webhook, and one try to deliver a signed message to it.

Redirects are not followed. A message goes to a public address, unless the operator allows others.

A message is in the JSON of Standard Webhooks (`generic`), or of a chat: see `worker.egress.chat`.

Signatures follow https://www.standardwebhooks.com: HMAC-SHA256 over id, time and body, in base64,
after the scheme's version; one signature per secret, so that a receiver can change its secret.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import quote

import httpx

from agents.errors import ToolRefused
from jobs.model.codec import dump
from jobs.transitions.change import Delivery
from jobs.view.job import format_time
from settings.webhooks import WebhookFormat, WebhookSettings
from worker.egress.chat import CHATS, notice_of
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
    """Messages are signed with each key; without a key they are not signed."""
    transport: Transport
    format: WebhookFormat = "generic"
    labels: frozenset[str] = frozenset()
    """Only messages about jobs with one of these labels are sent; empty: all."""
    public_url: str | None = None
    """The address of the API for people, without a slash at the end; None: messages have no
    link."""

    def accepts(self, delivery: Delivery) -> bool:
        """Whether the message is sent. Messages that are not about a job always are."""
        job_labels = delivery.data.get("labels")
        return not self.labels or job_labels is None or not self.labels.isdisjoint(job_labels)

    async def deliver(self, delivery: Delivery, now_ms: int) -> None:
        """Deliver a message. Raises DeliveryFailed if it may not have arrived."""
        body = message(delivery, self.format, self.public_url)
        signed = headers(self.keys, delivery.id, now_ms // 1000, body) if self.keys else {}
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


def message(
    delivery: Delivery, format_name: WebhookFormat = "generic", public_url: str | None = None
) -> bytes:
    """The body, equal in all tries: {type, timestamp, data}, or the JSON of a chat."""
    about_job = bool(delivery.job_id)
    link = f"{public_url}/app/jobs/{quote(delivery.job_id)}" if public_url and about_job else None
    if (render := CHATS.get(format_name)) is not None:
        return dump(render(notice_of(delivery, link))).encode()
    body = {
        "type": delivery.type,
        "timestamp": format_time(delivery.at),
        "data": {**delivery.data, **({"link": link} if about_job else {})},
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
        settings.webhook_format,
        frozenset(settings.webhook_labels),
        settings.public_url and settings.public_url.rstrip("/"),
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

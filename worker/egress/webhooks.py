"""Sender: one try to deliver a signed message to a webhook.

Redirects are not followed. A message goes to a public address, unless the operator allows others
for the webhooks that the operator made.

A message is in the JSON of Standard Webhooks (`generic`), or of a chat: see `worker.egress.chat`.

Signatures follow https://www.standardwebhooks.com: HMAC-SHA256 over id, time and body, in base64,
after the scheme's version; one signature per secret, so that a receiver can change its secret.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from urllib.parse import quote

import httpx

from agents.errors import ToolRefused
from jobs.model.codec import dump
from jobs.store.webhooks import Webhook
from jobs.transitions.change import Delivery
from jobs.view.job import format_time
from settings.webhooks import PREFIX, WebhookSettings
from worker.egress.chat import CHATS, notice_of
from worker.egress.mail import MailServer
from worker.egress.transport import Transport, TransportError

MAX_RESPONSE_BYTES = 65_536
"""Bytes of a response that are read. Only its status counts."""
STATUS_GONE = 410


@dataclass(frozen=True)
class DeliveryFailed(Exception):
    """A message did not arrive."""

    reason: str
    is_final: bool = False
    """Whether the receiver answered 410: it wants no more tries."""

    def __str__(self) -> str:
        return self.reason


@dataclass(frozen=True, slots=True)
class Sender:
    """Sends messages to the operator's webhook and to the webhooks of tenants."""

    operator: Webhook | None
    """The webhook of the settings."""
    transport: Transport
    """For webhooks of the operator; those of others reach no intranet."""
    public_url: str | None = None
    """The address of the API for people, without a slash at the end; None: messages have no
    link."""
    mail: MailServer | None = None

    async def send(self, webhook: Webhook, delivery: Delivery, now_ms: int) -> None:
        """Send a message. Raises DeliveryFailed if it may not have arrived."""
        try:
            if webhook.format == "email":
                await self._send_mail(webhook, delivery)
            else:
                await self._post(webhook, delivery, now_ms)
        except TransportError as error:
            raise DeliveryFailed(f"the receiver {error}") from None
        except ToolRefused as error:
            raise DeliveryFailed(str(error)) from None

    async def _send_mail(self, webhook: Webhook, delivery: Delivery) -> None:
        if self.mail is None:
            raise DeliveryFailed("this worker has no FETTLE_SMTP_URL")
        recipient = webhook.url.removeprefix("mailto:")
        await self.mail.send(delivery, recipient, link_of(delivery, self.public_url))

    async def _post(self, webhook: Webhook, delivery: Delivery, now_ms: int) -> None:
        body = message(delivery, webhook.format, self.public_url)
        keys = [parse_key(secret) for secret in webhook.secrets]
        signed = headers(keys, delivery.id, now_ms // 1000, body) if keys else {}
        transport = self.transport
        if not webhook.by_operator:
            transport = replace(transport, private=False)
        response = await transport.send(
            "POST",
            httpx.URL(webhook.url),
            {"Content-Type": "application/json", **signed},
            body,
            check_url=lambda _: None,
        )
        status = response.head.status
        if not 200 <= status < 300:
            raise DeliveryFailed(f"the receiver answered {status}", is_final=status == STATUS_GONE)


def link_of(delivery: Delivery, public_url: str | None) -> str | None:
    """The address of the job's page."""
    about_job = public_url and delivery.job_id
    return f"{public_url}/app/jobs/{quote(delivery.job_id)}" if about_job else None


def message(
    delivery: Delivery, format_name: str = "generic", public_url: str | None = None
) -> bytes:
    """The body, equal in all tries: {type, timestamp, data}, or the JSON of a chat."""
    link = link_of(delivery, public_url)
    if (render := CHATS.get(format_name)) is not None:
        return dump(render(notice_of(delivery, link))).encode()
    body = {
        "type": delivery.type,
        "timestamp": format_time(delivery.at),
        "data": {**delivery.data, **({"link": link} if delivery.job_id else {})},
    }
    return dump(body).encode()


def sender(settings: WebhookSettings) -> Sender:
    """The sender by the settings."""
    operator = settings.webhook_url and Webhook(
        url=settings.webhook_url,
        format=settings.webhook_format,
        secrets=settings.webhook_secrets,
        labels=settings.webhook_labels,
        by_operator=True,
    )
    mail = None
    if settings.smtp_url and settings.smtp_from:
        mail = MailServer(settings.smtp_url, settings.smtp_from, settings.webhook_seconds)
    return Sender(
        operator or None,
        Transport(settings.webhook_seconds, MAX_RESPONSE_BYTES, private=settings.webhook_private),
        settings.public_url and settings.public_url.rstrip("/"),
        mail,
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

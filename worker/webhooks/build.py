"""The endpoint that the operator's settings name."""

from __future__ import annotations

import httpx

from settings.webhooks import WebhookSettings
from worker.webhooks.endpoint import Endpoint
from worker.webhooks.signing import key_of


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

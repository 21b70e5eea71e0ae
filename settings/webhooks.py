"""Settings of webhooks, which announce reviews and ends of jobs."""

from __future__ import annotations

import base64
import binascii
from typing import Literal, Self

from pydantic import Field, SecretStr, model_validator

from settings.base import FettleSettings, Names
from settings.reading.addresses import (
    OptionalDestination,
    OptionalHttpUrl,
    OptionalMailAddress,
    SmtpField,
)

PREFIX = "whsec_"
SHORTEST, LONGEST = 24, 64

WebhookFormat = Literal["generic", "slack", "teams", "email"]

FORMAT_RULE = "`email` goes with mailto:NAME@HOST, and the other formats with https://"


def fits(url: str, webhook_format: WebhookFormat) -> bool:
    """Whether messages in this format can be sent to the address: see `FORMAT_RULE`."""
    return url.startswith("mailto:") == (webhook_format == "email")


class WebhookSettings(FettleSettings):
    """API and workers need the same values, because the process that makes a change announces
    it."""

    webhook_url: OptionalDestination = Field(
        None,
        description="address that receives messages on reviews (opened, reminded, escalated, "
        "expired, approved, decided) and on jobs that have ended; for the API and the workers",
    )
    webhook_secret: SecretStr | None = Field(
        None,
        description="signs the messages: `whsec_` and 24 to 64 random bytes in base64; two, "
        "separated by a space, while a receiver changes from one to the other; for `generic`",
    )
    webhook_format: WebhookFormat = Field(
        "generic",
        description="`generic` (signed, for programs), the JSON of an incoming webhook of "
        "`slack` or `teams`, or `email` (the address is `mailto:NAME@HOST`)",
    )
    webhook_labels: Names = Field(
        (),
        description="labels, separated by commas: the webhook gets messages only about jobs that "
        "have one of them; empty: about all jobs; for the workers",
    )
    smtp_url: SmtpField = Field(
        None,
        description="the mail server for the format `email`: smtps://USER:PASSWORD@HOST (TLS) or "
        "smtp://USER:PASSWORD@HOST (STARTTLS); for the workers",
    )
    smtp_from: OptionalMailAddress = Field(
        None, description="the sender's mail address, with `FETTLE_SMTP_URL`; for the workers"
    )
    public_url: OptionalHttpUrl = Field(
        None,
        description="the address at which people open the pages, without `/app`: messages link to "
        "the job; for the workers",
    )
    webhook_seconds: float = Field(10.0, gt=0, le=60, description="how long one try may take")
    webhook_private: bool = Field(
        False, description="whether the address may be an intranet's, or this machine's own"
    )

    @property
    def webhook_secrets(self) -> tuple[str, ...]:
        """Each secret."""
        return tuple(self.webhook_secret.get_secret_value().split()) if self.webhook_secret else ()

    @model_validator(mode="after")
    def _signed(self) -> Self:
        if (self.smtp_url is None) != (self.smtp_from is None):
            raise ValueError("FETTLE_SMTP_URL and FETTLE_SMTP_FROM go together: set both")
        is_signed = self.webhook_format == "generic"
        if self.webhook_url and not fits(self.webhook_url, self.webhook_format):
            raise ValueError(f"FETTLE_WEBHOOK_URL and _FORMAT: {FORMAT_RULE}")
        if self.webhook_url and is_signed and not self.webhook_secrets:
            raise ValueError(
                "FETTLE_WEBHOOK_URL needs FETTLE_WEBHOOK_SECRET: whsec_ and the output of "
                "`openssl rand -base64 32`"
            )
        for secret in self.webhook_secrets:
            try:
                size = len(base64.b64decode(secret.removeprefix(PREFIX), validate=True))
            except binascii.Error:
                size = 0
            if not SHORTEST <= size <= LONGEST:
                raise ValueError(
                    "FETTLE_WEBHOOK_SECRET is whsec_ and 24 to 64 bytes in base64: "
                    "`openssl rand -base64 32` makes them"
                )
        return self

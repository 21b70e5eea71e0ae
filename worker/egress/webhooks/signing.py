"""Signing: what proves to a receiver who sent a message, and when. Pure.

As https://www.standardwebhooks.com says: HMAC-SHA256 over id, time and body, in base64, behind the
scheme's version; one for each secret, so that a receiver can change from an old one to a new one.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Iterable, Mapping

PREFIX = "whsec_"


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

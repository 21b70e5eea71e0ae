"""What a refusal says of the server: the next form of the request. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agents.models.capabilities.record import Capabilities
from agents.models.errors import ModelRefused

REFUSED = frozenset({400, 404, 422})
"""The statuses of a refused form. OpenRouter answers 404 if no provider accepts a field."""


def learn(refusal: ModelRefused, sent: Mapping[str, Any], record: Capabilities) -> Capabilities:
    """The record with what `refusal` says of the body that was sent; the same one if it says
    nothing of it."""
    if refusal.status not in REFUSED:
        return record
    if "tool_choice" in sent and "tool_choice" in str(refusal):
        return record.changed(drop=record.drop | {"tool_choice"})
    return record

"""The model that wrote a reply."""

from __future__ import annotations

from langchain_core.messages import BaseMessage

ANSWERED_BY = "answered_by"
"""The key in a reply's metadata that names its model, as `provider:model`."""


def answered_by(message: BaseMessage) -> str | None:
    """The model that gave a reply, as `provider:model`; None if it is not a model's reply."""
    name: str | None = message.response_metadata.get(ANSWERED_BY)
    return name

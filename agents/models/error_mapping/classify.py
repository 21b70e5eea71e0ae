"""Maps any exception of a provider's client to Fettle's own errors.

Our HTTP client raises ours for each reply that is none (`transport.connection`); the libraries keep
it as a cause. What is left are connections. No provider's library is imported.
"""

from __future__ import annotations

import httpx

from agents.models.errors import ModelError, ModelUnavailable, with_causes

_MESSAGE_CHARACTERS = 500
_AWAY = (httpx.TransportError, httpx.DecodingError, TimeoutError, ConnectionError)


def classify(error: BaseException) -> ModelError | None:
    """The error for `error`, or None if it is not about a model (a bug, for example)."""
    chain = tuple(with_causes(error))
    for each in chain:
        if isinstance(each, ModelError):
            return each
    for each in chain:
        if isinstance(each, _AWAY):
            text = str(each) or type(each).__name__
            cut = text if len(text) <= _MESSAGE_CHARACTERS else text[:_MESSAGE_CHARACTERS] + " ..."
            return ModelUnavailable(cut)
    return None

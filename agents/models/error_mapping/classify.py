"""Maps any exception of a provider's client to Fettle's own errors.

Fettle's HTTP client raises Fettle's errors for each response that is no reply
(`transport.connection`), and the libraries keep them as causes. Only faults of connections remain.
No provider's library is imported.
"""

from __future__ import annotations

import httpx

from agents.errors import ModelError, ModelUnavailable, with_causes

_AWAY = (httpx.TransportError, httpx.DecodingError, TimeoutError, ConnectionError)


def classify(error: BaseException) -> ModelError | None:
    """The error for `error`, or None if it is not about a model (a bug, for example)."""
    chain = tuple(with_causes(error))
    for each in chain:
        if isinstance(each, ModelError):
            return each
    for each in chain:
        if isinstance(each, _AWAY):
            return ModelUnavailable(str(each) or type(each).__name__)
    return None

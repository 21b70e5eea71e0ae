"""Whether a request that failed may have been paid for all the same."""

from __future__ import annotations

from collections.abc import Iterator

import httpx

from agents.models.errors import (
    ModelError,
    ModelNotConfigured,
    ModelRefused,
    ModelUnavailable,
    RecordingMismatch,
    ReplyMalformed,
)

_NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


def may_be_billed(error: ModelError) -> bool:
    """False where the provider said no, or was never reached.

    A call that hung or was cut may have been answered in full at the other end; a malformed reply
    was written.
    """
    match error:
        case ReplyMalformed():
            return True
        case ModelNotConfigured() | RecordingMismatch():
            return False
        case ModelRefused(status=int(status)) | ModelUnavailable(status=int(status)):
            return status == httpx.codes.OK
        case _:
            return not any(isinstance(cause, _NEVER_SENT) for cause in _causes(error))


def _causes(error: BaseException) -> Iterator[BaseException]:
    current = error.__cause__
    while current is not None:
        yield current
        current = current.__cause__

"""Whether a failed request may have been billed."""

from __future__ import annotations

import httpx

from agents.models.errors import (
    ModelError,
    ModelNotConfigured,
    ModelRefused,
    ModelUnavailable,
    RecordingMismatch,
    ReplyUnusable,
    with_causes,
)

_NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


def may_be_billed(error: ModelError) -> bool:
    """False if the provider refused it or was not reached.

    A call that timed out or was cut off may have been answered in full; an unusable reply was
    generated.
    """
    match error:
        case ReplyUnusable():
            return True
        case ModelNotConfigured() | RecordingMismatch():
            return False
        case ModelRefused(status=int(status)) | ModelUnavailable(status=int(status)):
            return status == httpx.codes.OK
        case _:
            return not any(isinstance(cause, _NEVER_SENT) for cause in with_causes(error))

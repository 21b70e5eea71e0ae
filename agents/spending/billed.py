"""Whether a failed request may have been billed."""

from __future__ import annotations

from typing import Final

import httpx

from agents.models.errors import (
    ErrorKind,
    ModelError,
    ModelNotConfigured,
    ModelRefused,
    ModelUnavailable,
    RecordingMismatch,
    ReplyUnusable,
)

_NO_MODEL: Final = frozenset(
    {ErrorKind.ADDRESS, ErrorKind.CERTIFICATE, ErrorKind.KEY, ErrorKind.NO_SERVER}
)
"""No model received the request."""


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
        case ModelRefused() | ModelUnavailable():
            return error.kind not in _NO_MODEL and error.status in (None, httpx.codes.OK)
        case _:
            return True

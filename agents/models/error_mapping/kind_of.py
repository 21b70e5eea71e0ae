"""The kind of an error: from the provider's message, then from its status. Pure.

Providers and gateways use one status for several causes: 400 is a request that is not accepted, and
an empty account (Anthropic), a wrong key (Gemini), a model that was shut down (Groq), a region that
is not served (Gemini). The first rule with words in the message decides. The status decides only if
no rule fits.

Why: docs/decisions/0077-errors-by-the-providers-message.md
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from agents.errors import ErrorKind
from agents.models.error_mapping.error_body import ErrorBody
from agents.models.error_mapping.rules import RULES

_READ_CHARACTERS = 2_000
"""The end of a longer message may be a part of the request."""

# A gateway may answer 500 to every error, and an error within a stream has no status of its own:
# then a type or the name of LiteLLM's error is used, without underscores.
# https://docs.anthropic.com/en/api/errors, https://docs.litellm.ai/docs/exception_mapping
_STATUS_OF: Final[Mapping[str, int]] = {
    "invalidrequesterror": 400,
    "badrequesterror": 400,
    "unsupportedparamserror": 400,
    "authenticationerror": 401,
    "billingerror": 402,
    "budgetexceedederror": 402,
    "permissionerror": 403,
    "permissiondeniederror": 403,
    "notfounderror": 404,
    "requesttoolarge": 413,
    "ratelimiterror": 429,
    "ratelimitexceeded": 429,
    "overloadederror": 529,
}
_UNSURE: Final = frozenset({200, 500})


_MENTIONS_MODEL = re.compile(r"model|deployment", re.IGNORECASE)
_OF_STATUS: Final[Mapping[int, ErrorKind]] = {
    401: ErrorKind.KEY,
    402: ErrorKind.CREDIT,
    403: ErrorKind.ACCESS,
    404: ErrorKind.ADDRESS,
    405: ErrorKind.ADDRESS,
    407: ErrorKind.ADDRESS,
    408: ErrorKind.OVERLOADED,
    409: ErrorKind.OVERLOADED,
    410: ErrorKind.ADDRESS,
    413: ErrorKind.TOO_LARGE,
    424: ErrorKind.OVERLOADED,  # TGI and Bedrock: the model behind the server failed
    425: ErrorKind.OVERLOADED,
    429: ErrorKind.RATE,
    # Groq's own: no capacity in the flex tier. https://console.groq.com/docs/errors
    498: ErrorKind.OVERLOADED,
    499: ErrorKind.OVERLOADED,  # Gemini: CANCELLED
}


def kind_of(status: int, body: ErrorBody) -> ErrorKind:
    """The kind of an error with this status, as `status_of` returns it, and this body."""
    text = f"{' '.join(body.signs)} {body.sentence}"[:_READ_CHARACTERS]
    for rule in RULES:
        if status in (rule.statuses or {status}) and rule.words.search(text):
            return rule.kind
    if status in (404, 405, 410) and _MENTIONS_MODEL.search(text):
        return ErrorKind.MODEL
    if 300 <= status < 400:
        return ErrorKind.ADDRESS
    unknown = ErrorKind.REQUEST if 400 <= status < 500 else ErrorKind.OVERLOADED
    return _OF_STATUS.get(status, unknown)


def status_of(status: int, body: ErrorBody) -> int:
    """The status that the error means, which its code, its type or the name in its message says if
    the HTTP status is 200 or 500: `{"code": "401"}`, `rate_limit_error`."""
    if status not in _UNSURE:
        return status
    if body.status not in (None, 500):
        return body.status
    names = (name.replace("_", "").lower() for name in body.signs)
    return next((_STATUS_OF[name] for name in names if name in _STATUS_OF), body.status or status)

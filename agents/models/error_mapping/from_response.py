"""Maps a provider's HTTP response that is no reply to Fettle's errors."""

from __future__ import annotations

import json
from collections.abc import Mapping

import httpx

from agents.errors import ErrorKind, ModelError, ModelRefused, ModelUnavailable
from agents.models.error_mapping.error_body import ErrorBody, page_title, read_error
from agents.models.error_mapping.from_status import error_of
from agents.models.error_mapping.from_transport import shown_url

_SHOWN_CHARACTERS = 120
_PAGE_OF_A_CLIENT_ERROR = frozenset({408, 413, 425, 429})
"""A web page with another status of 4xx comes from something else than a model's server."""


def error_from_response(body: bytes, response: httpx.Response) -> ModelError:
    """The error for an error status. The clients' own errors differ in what they keep."""
    status = response.status_code
    if 300 <= status < 400:
        leads = shown_url(response.headers.get("location", ""), response.request.url)
        return ModelRefused(f"a redirect to {leads}", status=status, kind=ErrorKind.ADDRESS)
    text = body.decode(errors="replace")
    if (title := page_title(text)) is not None:
        return _of_page(status, title, response.headers)
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = text[:_SHOWN_CHARACTERS]
    read = read_error(value)
    sentence = read.sentence or text[:_SHOWN_CHARACTERS].strip() or response.reason_phrase
    answer = value[0] if isinstance(value, list) and value else value
    answer = answer if isinstance(answer, dict) else {}
    error = answer.get("error")
    details = error if isinstance(error, dict) else answer
    return error_of(status, read._replace(sentence=sentence), details, response.headers)


def _of_page(status: int, title: str, headers: Mapping[str, str]) -> ModelError:
    message = f"a web page, {title!r}"
    if 400 <= status < 500 and status not in _PAGE_OF_A_CLIENT_ERROR:
        return ModelRefused(message, status=status, kind=ErrorKind.ADDRESS)
    return error_of(status, ErrorBody(message), {}, headers)


def unreadable(kind: str, text: str) -> ModelUnavailable:
    """The error for a body that is not a reply. `kind` is its content type."""
    if (title := page_title(text)) is not None:
        message = f"a web page, {title!r}"
        return ModelUnavailable(message, status=200, kind=ErrorKind.ADDRESS)
    shown = text[:_SHOWN_CHARACTERS]
    return ModelUnavailable(f"unreadable reply ({kind}): {shown!r}", status=200)


def at_address(error: ModelError, url: httpx.URL, *, proven: bool) -> ModelError:
    """The error with the address that was called, if the address may be wrong.

    `proven`: a reply has come from there before. Then the address is right, and a web page or an
    unknown path is an outage: of a gateway, while the server behind it restarts.
    """
    if not isinstance(error, ModelRefused | ModelUnavailable):
        return error
    if error.kind is not ErrorKind.ADDRESS:
        return error
    message = f"{error}, from {shown_url(url)}"
    if proven:
        return ModelUnavailable(message, status=error.status, kind=ErrorKind.OVERLOADED)
    error.args = (message,)
    if isinstance(error, ModelUnavailable):
        error.unproven = True
    return error

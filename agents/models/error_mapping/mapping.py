"""Maps an exception of a client library, a response or a connection to a ModelError.

Fettle's HTTP client raises ModelError for each response that is not a reply
(`agents.models.transport.connection`), and the client libraries keep that error as a cause. So only
faults of connections remain for `classify`. No provider's library is imported.
"""

from __future__ import annotations

import json
import os
import ssl
from collections.abc import Iterator, Mapping
from typing import Any, Final

import httpx

from agents.errors import (
    ContextExceeded,
    ErrorKind,
    ModelError,
    ModelRefused,
    ModelUnavailable,
    ReplyUnusable,
    with_causes,
)
from agents.models.error_mapping.error_body import (
    ErrorBody,
    page_title,
    read_error,
    retry_after_seconds,
)
from agents.models.error_mapping.kinds import kind_of, status_of
from agents.texts import replace_surrogates

_AWAY = (httpx.TransportError, httpx.DecodingError, TimeoutError, ConnectionError)


def classify(error: BaseException) -> ModelError | None:
    """The error for `error`, or None if it is not about a model (a bug, for example)."""
    chain = tuple(with_causes(error))
    for cause in chain:
        if isinstance(cause, ModelError):
            return cause
    for cause in chain:
        if isinstance(cause, _AWAY):
            return ModelUnavailable(str(cause) or type(cause).__name__)
    return None


_SHOWN_CHARACTERS = 120
_PAGE_OF_A_CLIENT_ERROR = frozenset({408, 413, 425, 429})
"""A web page with another status of 4xx comes from something else than a model's server."""


def error_from_response(body: bytes, response: httpx.Response) -> ModelError:
    """The error for an error status. The client libraries' own errors differ too much."""
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
    excerpt = text[:_SHOWN_CHARACTERS]
    return ModelUnavailable(f"unreadable reply ({kind}): {excerpt!r}", status=200)


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


_UNAVAILABLE: Final = frozenset({ErrorKind.RATE, ErrorKind.QUOTA, ErrorKind.OVERLOADED})
_DAY_WAIT_SECONDS = 3_600.0
_SHORTEST_DAY_WAIT_SECONDS = 60.0
"""A shorter wait does not bring back a quota of a day, although Gemini asks for it."""


def error_of(
    http_status: int, body: ErrorBody, details: Mapping[str, Any], headers: Mapping[str, str]
) -> ModelError:
    """The error for a body that was read, which came with `http_status`."""
    message = replace_surrogates(body.sentence)
    if details.get("code") == "tool_use_failed" or "failed_generation" in details:
        text = replace_surrogates(str(details.get("failed_generation") or ""))
        return ReplyUnusable(f"has a tool call that is not valid: {message}", text=text)
    status = status_of(http_status, body)
    kind = kind_of(status, body)
    if kind in (ErrorKind.TOO_LONG, ErrorKind.TOO_LARGE):
        return ContextExceeded(message, status=status, kind=kind, details=details)
    if kind not in _UNAVAILABLE:
        return ModelRefused(message, status=status, kind=kind, details=details)
    wait = retry_after_seconds(headers, details, message)
    if kind is ErrorKind.QUOTA and (wait or 0.0) < _SHORTEST_DAY_WAIT_SECONDS:
        wait = _DAY_WAIT_SECONDS
    return ModelUnavailable(message, status=status, kind=kind, retry_after_seconds=wait)


def error_in_reply(error: Any) -> ModelError:
    """The error for an error that came in place of a reply, or within it, with status 200."""
    body = read_error(error)
    if isinstance(error, Mapping):
        return error_of(500, body._replace(sentence=body.sentence or str(error)), error, {})
    result = error_of(200, body._replace(sentence=body.sentence or str(error)), {}, {})
    if isinstance(result, ModelUnavailable) and result.status == 200:
        result.args = (f"the reply broke off: {result}",)
    return result


_PLAIN_TEXT = frozenset({"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "UNKNOWN_PROTOCOL"})
"""OpenSSL's reasons for an answer that is no TLS."""
_URL_CHARACTERS = 200


def shown_url(text: str | httpx.URL, base: httpx.URL | None = None) -> str:
    """A URL without credentials, query and fragment; `base`: the URL to which a relative URL
    belongs."""
    try:
        url = base.join(text) if base is not None else httpx.URL(text)
        plain = url.copy_with(username="", password="", query=None, fragment=None)
    except httpx.InvalidURL:
        return "an address that cannot be read"
    return str(plain)[:_URL_CHARACTERS]


def error_from_transport(
    error: httpx.TransportError, url: httpx.URL, *, proven: bool
) -> ModelError | None:
    """The error for a request to `url` that no model's server received; None for any other fault of
    a connection, such as a cut. `proven`: the address is known to be right."""
    causes = tuple(_causes(error))
    address = shown_url(url)
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            reason = f"{cause.verify_message}: {address}"
            kind = ErrorKind.CERTIFICATE
            return ModelUnavailable(reason, kind=kind, unproven=not proven)
        if isinstance(cause, ssl.SSLError) and cause.reason in _PLAIN_TEXT:
            reason = f"it speaks http, not https: {address}"
            return ModelRefused(reason, kind=ErrorKind.ADDRESS)
    match error:
        case httpx.UnsupportedProtocol():
            return ModelRefused(
                f"no http:// or https:// address: {address}", kind=ErrorKind.ADDRESS
            )
        case httpx.LocalProtocolError():  # its text shows the header, and so the key
            return ModelRefused("it cannot be sent as a header", kind=ErrorKind.KEY)
        case httpx.RemoteProtocolError() if "illegal" in str(error):
            reason = f"it does not speak HTTP: {address}"
            return ModelUnavailable(reason, kind=ErrorKind.ADDRESS, unproven=not proven)
        case httpx.ProxyError():
            reason = f"the proxy that HTTPS_PROXY names refuses the connection ({error})"
        case httpx.ConnectTimeout():
            reason = "no connection in time"
        case httpx.ConnectError():
            reason = _reason(causes)
        case _:
            return None
    return ModelUnavailable(f"{reason}: {address}", kind=ErrorKind.NO_SERVER, unproven=not proven)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error and the errors that it was raised in: httpcore names no cause."""
    current: BaseException | None = error
    while current is not None:
        yield current
        current = current.__cause__ or current.__context__


def _reason(causes: tuple[BaseException, ...]) -> str:
    """`Connection refused`, or the text of the innermost error."""
    numbers = (cause.errno or 0 for cause in causes if isinstance(cause, OSError))
    if (number := max(numbers, default=0)) > 0:
        return os.strerror(number)
    return str(causes[-1]) or type(causes[-1]).__name__

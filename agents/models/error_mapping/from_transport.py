"""Maps a connection that was not made, or is not HTTP, to Fettle's errors."""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterator

import httpx

from agents.errors import ErrorKind, ModelError, ModelRefused, ModelUnavailable

_PLAIN_TEXT = frozenset({"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "UNKNOWN_PROTOCOL"})
"""OpenSSL's reasons for an answer that is no TLS."""
_SHOWN_CHARACTERS = 200


def shown_url(text: str | httpx.URL, base: httpx.URL | None = None) -> str:
    """A URL without credentials, query and fragment; `base` is that of a relative one."""
    try:
        url = base.join(text) if base is not None else httpx.URL(text)
        plain = url.copy_with(username="", password="", query=None, fragment=None)
    except httpx.InvalidURL:
        return "an address that cannot be read"
    return str(plain)[:_SHOWN_CHARACTERS]


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

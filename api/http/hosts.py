"""The host names that the service answers to. Pure.

Any site can point its own name to this machine (DNS rebinding). A browser then treats this service
as that site, and sends its requests here. Only the Host header shows it.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Sequence
from urllib.parse import urlsplit

LOOPBACK = ("localhost", "*.localhost")


def is_known(called: Sequence[str], allowed: Iterable[str], server: str | None) -> bool:
    """Whether each Host header (`called`) is a name of the service.

    `server` is the connection's local address, which is allowed, since no site's name looks like
    it. A request without the header is not from a browser.
    """
    names = (*LOOPBACK, *allowed)
    return "*" in names or all(_is_name(_name(each), names, server) for each in called)


def _name(host: str) -> str:
    """The header without its port, in lower case; empty where it is not a name."""
    try:
        return (urlsplit(f"//{host}").hostname or "").removesuffix(".")
    except ValueError:
        return ""


def _is_name(name: str, names: Iterable[str], server: str | None) -> bool:
    address = _address(name)
    if address is not None and (address.is_loopback or address == _address(server or "")):
        return True
    return any(_matches(name, each.lower()) for each in names)


def _matches(name: str, pattern: str) -> bool:
    if pattern.startswith("*."):
        return name.endswith(pattern[1:]) and len(name) > len(pattern) - 1
    return bool(name) and name == pattern.strip("[]")


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        found = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return getattr(found, "ipv4_mapped", None) or found

"""The host names that the service answers to. Pure.

Any site can point its own name to this machine (DNS rebinding). A browser then treats this service
as that site, and sends its requests here. Only the Host header shows it.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable, Sequence
from urllib.parse import urlsplit

LOOPBACK = ("localhost", "*.localhost")


def are_allowed(hosts: Sequence[str], allowed: Iterable[str], server: str | None) -> bool:
    """Whether each Host header is a name of the service.

    `server` is the connection's local address, which is allowed, because no site's name looks like
    it. A request without the header is not from a browser.
    """
    names = (*LOOPBACK, *allowed)
    return "*" in names or all(_is_allowed(_name(host), names, server) for host in hosts)


def _name(host: str) -> str:
    """The name in the header, without the port, in lower case; empty if the header has no name."""
    try:
        return (urlsplit(f"//{host}").hostname or "").removesuffix(".")
    except ValueError:
        return ""


def _is_allowed(name: str, names: Iterable[str], server: str | None) -> bool:
    address = _address(name)
    if address is not None and (address.is_loopback or address == _address(server or "")):
        return True
    return any(_matches(name, pattern.lower()) for pattern in names)


def _matches(name: str, pattern: str) -> bool:
    if pattern.startswith("*."):
        return name.endswith(pattern[1:]) and len(name) > len(pattern) - 1
    return bool(name) and name == pattern.strip("[]")


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address

"""Addresses of services."""

from __future__ import annotations

import ipaddress

import httpx

from fettle.errors import BadSettings


def parse_address(url: str) -> httpx.URL:
    """An address of http or https. Raises BadSettings."""
    try:
        address = httpx.URL(url)
    except (httpx.InvalidURL, UnicodeEncodeError):
        address = httpx.URL("")
    if address.scheme not in ("http", "https") or not address.host:
        raise BadSettings("the address of the service is not a URL with http:// or https://")
    return address


def origin_of(url: httpx.URL) -> tuple[str, str, int | None]:
    """Scheme, host and port: the server that a key is sent to. The port is None if it is the
    scheme's own."""
    return url.scheme, url.host.removesuffix("."), url.port


def is_loopback(url: str) -> bool:
    """Whether the address is on this machine."""
    host = parse_address(url).host
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"

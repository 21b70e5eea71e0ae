"""The hosts and the addresses that a worker may connect to, by the operator's lists. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

import httpx

from agents.errors import ToolRefused

MAX_URL_CHARACTERS = 2_000
PLAIN = "http://"
PORTS = {"https": 443, "http": 80, "ssh": 22}
"""The default port of each scheme."""
_SHARED = IPv4Network("100.64.0.0/10")
"""Carrier-grade NAT (RFC 6598)."""
_TRANSLATED = tuple(
    IPv6Network(network)
    for network in ("::/96", "64:ff9b::/96", "64:ff9b:1::/48", "2001::/32", "2002::/16")
)
"""IPv6 addresses that some router translates to IPv4: compatible, NAT64, Teredo, 6to4."""
_FORBIDDEN = tuple(
    ip_network(network)
    for network in (
        *("0.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "240.0.0.0/4", "192.0.0.0/24"),
        *("fe80::/10", "fec0::/10", "ff00::/8"),
        *("100.100.100.200/32", "168.63.129.16/32", "fd00:ec2::254/128", "fd20:ce::254/128"),
    )
)
"""Unspecified, link-local (a cloud's metadata), multicast and reserved addresses, which no intranet
has; and metadata addresses of clouds that look like intranet or public addresses."""


@dataclass(frozen=True, slots=True)
class HostList:
    """The operator's list of hosts: `docs.example.org`, `*.example.org` (its subdomains),
    `example.org:8443`. A name without a port has the default port of the scheme.
    """

    names: tuple[str, ...]
    """A name that begins with `http://` allows unencrypted requests to its host only."""
    http: bool = False
    """Whether unencrypted requests to all hosts of the list are allowed."""

    def require(self, url: httpx.URL) -> None:
        """Raise ToolRefused if the host of the URL is not on the list."""
        allows_http = self.http or any(name.startswith(PLAIN) for name in self.names)
        if url.scheme != "https" and not (url.scheme == "http" and allows_http):
            raise ToolRefused(f"the address must begin with https://: {display_url(url)}")
        if url.userinfo:
            raise ToolRefused("the address must not have a user name or a password")
        if not any(self._matches(name, url) for name in self.names):
            raise ToolRefused(
                f"the host {authority(url)} is not on the operator's list: {', '.join(self.names)}"
            )

    def has_full_name(self, url: httpx.URL) -> bool:
        """Whether the list has the full name of the host, not only a `*.` pattern."""
        return any(is_full_name(name) and self._matches(name, url) for name in self.names)

    def _matches(self, name: str, url: httpx.URL) -> bool:
        return _matches_host(name.lower(), url) if self.http else matches(name, url)


def matches(name: str, url: httpx.URL) -> bool:
    """Whether a name of a list, `SCHEME://HOST` or `HOST` for https, matches the URL."""
    scheme, _, host = name.lower().rpartition("://")
    return (scheme or "https") == url.scheme and _matches_host(host, url)


def is_full_name(name: str) -> bool:
    """Whether a name of a list names one host, and not all subdomains of a domain."""
    return not name.rpartition("://")[2].startswith("*.")


def parse_url(address: str) -> httpx.URL:
    """The URL without its fragment. Raises ToolRefused if the address is no URL with a host."""
    if len(address) > MAX_URL_CHARACTERS:
        raise ToolRefused(f"an address has at most {MAX_URL_CHARACTERS} characters")
    try:
        url = httpx.URL(address.strip())
        host = url.host  # decodes the name, which may fail
    except (httpx.InvalidURL, ValueError) as error:
        raise ToolRefused(f"this is no address: {error}") from None
    if not host:
        raise ToolRefused(f"this is no complete address: {address[:80]!r}")
    return url.copy_with(fragment=None)


def authority(url: httpx.URL) -> str:
    """The host, and the port if it is not the default port of the scheme."""
    host = url.raw_host.decode("ascii").lower().rstrip(".")
    host = f"[{host}]" if ":" in host else host  # IPv6
    return host if url.port in {None, PORTS.get(url.scheme)} else f"{host}:{url.port}"


def display_url(url: httpx.URL) -> str:
    """The URL for messages: without credentials, at most 200 characters."""
    return str(url.copy_with(username="", password="") if url.userinfo else url)[:200]


def require_address(address: str, *, private: bool) -> None:
    """Raise ToolRefused for an IP address that a worker may not connect to.

    `private` also allows the addresses of an intranet: private, shared and loopback addresses.
    """
    ip = ip_address(address.partition("%")[0])
    if isinstance(ip, IPv6Address):
        if ip.ipv4_mapped is not None:
            ip = ip.ipv4_mapped
        elif not ip.is_loopback and any(ip in network for network in _TRANSLATED):
            raise _not_public(address)
    if any(ip.version == network.version and ip in network for network in _FORBIDDEN):
        raise _not_public(address)
    if ip.is_global and not ip.is_multicast and not ip.is_reserved:
        return
    is_intranet = ip.is_private or (ip.version == 4 and ip in _SHARED)
    if not (private and is_intranet):
        raise _not_public(address)


def _not_public(address: str) -> ToolRefused:
    return ToolRefused(
        f"the host's address {address} is not public; the operator does not allow it"
    )


def _matches_host(name: str, url: httpx.URL) -> bool:
    host = authority(url)
    return host.endswith(name[1:]) if name.startswith("*.") else host == name

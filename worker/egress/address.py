"""Which addresses may be connected to. Pure."""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from agents.errors import ToolRefused

_SHARED = IPv4Network("100.64.0.0/10")
"""Carrier-grade NAT (RFC 6598)."""
_CARRIES_IPV4 = tuple(
    IPv6Network(each)
    for each in ("::/96", "64:ff9b::/96", "64:ff9b:1::/48", "2001::/32", "2002::/16")
)
"""IPv6 addresses that some router translates to IPv4: compatible, NAT64, Teredo, 6to4."""
_NEVER = tuple(
    ip_network(each)
    for each in (
        *("0.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "240.0.0.0/4", "192.0.0.0/24"),
        *("fe80::/10", "fec0::/10", "ff00::/8"),
        *("100.100.100.200/32", "168.63.129.16/32", "fd00:ec2::254/128", "fd20:ce::254/128"),
    )
)
"""Unspecified, link-local (a cloud's metadata), multicast, reserved: no intranet has these. And the
metadata addresses of clouds that look like an intranet's, or like public ones."""


def require(address: str, *, private: bool) -> None:
    """Raise ToolRefused for an address that may not be connected to.

    `private` allows an intranet's addresses (private, shared and loopback), and no others more.
    """
    ip = ip_address(address.partition("%")[0])
    if isinstance(ip, IPv6Address):
        if ip.ipv4_mapped is not None:
            ip = ip.ipv4_mapped
        elif not ip.is_loopback and any(ip in network for network in _CARRIES_IPV4):
            raise _refused(address)
    if any(ip.version == network.version and ip in network for network in _NEVER):
        raise _refused(address)
    if ip.is_global and not ip.is_multicast and not ip.is_reserved:
        return
    inside = ip.is_private or (ip.version == 4 and ip in _SHARED)
    if not (private and inside):
        raise _refused(address)


def _refused(address: str) -> ToolRefused:
    return ToolRefused(
        f"the host's address {address} is not public; the operator does not allow it"
    )

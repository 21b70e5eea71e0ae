"""Hosts: an operator's list of hosts that may be reached. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import httpx

from agents.errors import ToolRefused

LONGEST = 2_000
PLAIN = "http://"
_PORTS = {"https": 443, "http": 80, "ssh": 22}


@dataclass(frozen=True, slots=True)
class Hosts:
    """Names such as `docs.example.org`, `*.example.org` (those below it) and `example.org:8443`.

    Without a port it is the scheme's own. `http` allows unencrypted requests, too; a name that
    begins with `http://` allows them for its host, and no others.
    """

    names: tuple[str, ...]
    http: bool = False

    def require(self, url: httpx.URL) -> None:
        """Raise ToolRefused for a URL of another host."""
        plain = self.http or any(name.startswith(PLAIN) for name in self.names)
        if url.scheme != "https" and not (url.scheme == "http" and plain):
            raise ToolRefused(f"the address must begin with https://: {shown(url)}")
        if url.userinfo:
            raise ToolRefused("the address must hold no user name and no password")
        if not any(self._fits(name, url) for name in self.names):
            raise ToolRefused(
                f"the host {authority(url)} is not on the operator's list: {', '.join(self.names)}"
            )

    def name_in_full(self, url: httpx.URL) -> bool:
        """Whether the host is on the list by its own name, and by no `*.` alone."""
        return any(in_full(name) and self._fits(name, url) for name in self.names)

    def _fits(self, name: str, url: httpx.URL) -> bool:
        return _fits(name.lower(), url) if self.http else listed(name, url)


def listed(name: str, url: httpx.URL) -> bool:
    """Whether a name of a list is the URL's host: `SCHEME://HOST`, or `HOST` for https."""
    scheme, _, host = name.lower().rpartition("://")
    return (scheme or "https") == url.scheme and _fits(host, url)


def in_full(name: str) -> bool:
    """Whether a name of a list is one host, and not all those below a domain."""
    return not name.rpartition("://")[2].startswith("*.")


def parsed(address: str) -> httpx.URL:
    """The URL without its fragment. Raises ToolRefused for what is none."""
    if len(address) > LONGEST:
        raise ToolRefused(f"an address has at most {LONGEST} characters")
    try:
        url = httpx.URL(address.strip())
        host = url.host  # decoded here, and not every name can be
    except (httpx.InvalidURL, ValueError) as error:
        raise ToolRefused(f"this is no address: {error}") from None
    if not host:
        raise ToolRefused(f"this is no whole address: {address[:80]!r}")
    return url.copy_with(fragment=None)


def authority(url: httpx.URL) -> str:
    """Host, and port where it is not the scheme's own."""
    host = url.raw_host.decode("ascii").lower().rstrip(".")
    host = f"[{host}]" if ":" in host else host  # IPv6
    return host if url.port in {None, _PORTS.get(url.scheme)} else f"{host}:{url.port}"


def shown(url: httpx.URL) -> str:
    """A URL as it may be shown: without credentials."""
    return str(url.copy_with(username="", password="") if url.userinfo else url)[:200]


def _fits(name: str, url: httpx.URL) -> bool:
    place = authority(url)
    if not name.startswith("*."):
        return place == name
    return place.endswith(name[1:])

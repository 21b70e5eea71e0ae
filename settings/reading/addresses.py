"""Addresses, parsed into types when a process reads its settings.

A message about an address never repeats any part of it: a password with an unescaped `@`, `/` or
`:` can end up in every part.

See ADR 64.
"""

from __future__ import annotations

import ipaddress
import os
import re
import socket
import ssl
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlencode, urlsplit

from pydantic import AfterValidator, BeforeValidator
from pydantic_settings import NoDecode

MASK = "********"
REDIS_PORT = 6379
DATABASES = 16
"""The databases that a Redis has unless its configuration says otherwise."""

_CONTROL_OR_SPACE = re.compile(r"[\x00-\x20\x7f]")
_LABEL = r"[a-z0-9]([a-z0-9_-]{0,61}[a-z0-9])?"
_HOST_NAME = re.compile(rf"(?=.{{1,253}}\Z)({_LABEL}\.)*(?!\d+\.?\Z){_LABEL}\.?", re.IGNORECASE)
"""A name that a resolver accepts: ASCII, short labels, and no number at the end, because a name
that ends with a number would be an IP address."""
_MAIL_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._+-]{0,63}")
_SOCKET_BYTES = 107
"""The longest path of a Unix socket on Linux."""
_ESCAPE = "in a user name or password, write characters such as @ : / ? # percent-encoded"
_VERIFY = {"required": True, "cert_required": True, "none": False, "cert_none": False}
_SWITCH = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


class AddressError(ValueError):
    """A text is not a valid address. The message is one sentence, and repeats no part of the
    text."""


@dataclass(frozen=True, slots=True)
class Tls:
    """How a client verifies a server, and proves itself to it. Files are PEM."""

    verify: bool = True
    check_hostname: bool = True
    ca_file: str | None = None
    """A file with certificates of authorities, in addition to the authorities of the machine."""
    certificate_file: str | None = None
    key_file: str | None = None

    @property
    def safe(self) -> bool:
        """Whether no other server can pose as the intended server."""
        return self.verify and self.check_hostname


@dataclass(frozen=True, slots=True)
class RedisAddress:
    """A Redis server and one of its databases: by `host` and `port`, or by a Unix `socket`."""

    host: str = ""
    port: int = REDIS_PORT
    database: int = 0
    username: str = ""
    password: str = field(default="", repr=False)
    socket: str = ""
    """The absolute path of a Unix socket; empty for a server on TCP."""
    tls: Tls | None = None

    @property
    def url(self) -> str:
        """The address as redis-py reads it, with the password and every option of TLS."""
        return self._url(quote(self.password, safe=""))

    def __str__(self) -> str:
        """The address as it may be shown: without the password."""
        return self._url(MASK if self.password else "")

    def _url(self, password: str) -> str:
        secret = f":{password}" if password else ""
        user = f"{quote(self.username, safe='')}{secret}@" if self.username or secret else ""
        if self.socket:
            return f"unix://{user}{quote(self.socket)}?db={self.database}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        location = f"{user}{host}:{self.port}/{self.database}"
        return (
            f"redis://{location}" if self.tls is None else f"rediss://{location}?{_query(self.tls)}"
        )


def parse_redis(text: str) -> RedisAddress:
    """A Redis address: `redis://`, `rediss://` (TLS) or `unix://`, which Celery's users know as
    `redis+socket://`. Raises AddressError.
    """
    parts = _split(text, ("redis", "rediss", "unix", "redis+socket"))
    options = _options(parts)
    username, password = unquote(parts.username or ""), unquote(parts.password or "")
    if database_option := _DATABASE_OPTIONS.get(parts.scheme):
        path = _socket(parts)
        _check_options(options, {database_option}, f"{parts.scheme}://")
        database = _database(options.get(database_option, "0"))
        return RedisAddress("", 0, database, username, password, socket=path)
    secure = parts.scheme == "rediss"
    _check_options(options, _TLS_OPTIONS if secure else frozenset(), f"{parts.scheme}://")
    return RedisAddress(
        host=_host(parts),
        port=_port(parts) or REDIS_PORT,
        database=_database(parts.path.removeprefix("/") or "0"),
        username=username,
        password=password,
        tls=_tls(options) if secure else None,
    )


@dataclass(frozen=True, slots=True)
class SmtpAddress:
    """A mail server. The connection always uses TLS."""

    host: str
    port: int
    tls: bool
    """Whether the connection begins with TLS. False: STARTTLS begins it."""
    username: str
    password: str = field(repr=False)

    def __str__(self) -> str:
        """The address as it may be shown: without user name and password."""
        return f"{'smtps' if self.tls else 'smtp'}://{self.host}:{self.port}"


def parse_smtp(text: str) -> SmtpAddress:
    """A mail server: `smtps://` (TLS) or `smtp://` (STARTTLS). Raises AddressError."""
    parts = _split(text, ("smtps", "smtp"))
    tls = parts.scheme == "smtps"
    if parts.path.strip("/") or parts.query:
        raise AddressError("the address of a mail server has no path and no options")
    username, password = unquote(parts.username or ""), unquote(parts.password or "")
    if not (username + password).isascii():  # smtplib sends no others
        raise AddressError("the user name and the password of a mail server are ASCII")
    port = _port(parts) or (465 if tls else 587)
    return SmtpAddress(_host(parts), port, tls, username, password)


def parse_http(text: str, *, user_info: bool = False, query: bool = False) -> str:
    """An address that begins with `https://` or `http://`; the text itself, without blanks around
    it. A user name and a password are refused without `user_info`, and options without `query`:
    paths are added to most addresses, and would become part of the options. Raises AddressError.
    """
    parts = _split(text, ("https", "http"))
    _host(parts)
    _port(parts)
    if not user_info and "@" in parts.netloc:
        raise AddressError("an address has no user name and no password here")
    if not query and "?" in text:
        raise AddressError("an address has no ? here")
    return text.strip()


def parse_complete_http(text: str) -> str:
    """An address on the web that no path is added to. Raises AddressError."""
    return parse_http(text, query=True)


def parse_destination(text: str) -> str:
    """An address that receives messages: on the web, or `mailto:` and one mail address. Raises
    AddressError."""
    if not text.strip().lower().startswith("mailto:"):
        return parse_http(text, query=True)
    return f"mailto:{parse_mail_address(text.strip()[len('mailto:') :])}"


def parse_mail_address(text: str) -> str:
    """A mail address without a display name. Raises AddressError."""
    name, _, host = text.strip().rpartition("@")
    if _MAIL_NAME.fullmatch(name) is None or _HOST_NAME.fullmatch(host) is None:
        raise AddressError("a mail address is written as in reviews@example.org")
    return f"{name}@{host}"


def http_origin(url: str) -> tuple[str, str, int]:
    """Scheme, host and port of a parsed address: the server that a key is sent to."""
    parts = urlsplit(url)
    port = parts.port or {"https": 443, "http": 80}[parts.scheme]
    return parts.scheme, (parts.hostname or "").removesuffix("."), port


def parse_engine(text: str) -> str:
    """Docker's engine: `unix:///path` or `tcp://host:port`. Raises AddressError."""
    parts = _split(text, ("unix", "tcp"))
    if parts.scheme == "unix":
        _socket(parts)
        if "@" in parts.netloc or parts.query:
            raise AddressError("the socket of an engine has no user name and no options")
    if parts.scheme == "tcp":
        _host(parts)
        if _port(parts) is None or "@" in parts.netloc or parts.path or parts.query:
            raise AddressError("an engine on tcp is written tcp://host:port")
    return text.strip()


def parse_listen_host(text: str) -> str:
    """An address of this machine, or a name of it, to listen on. Raises AddressError, also for a
    name that does not exist; a name server that does not answer may answer later.
    """
    host = text.strip().removeprefix("[").removesuffix("]")
    _check_host(host)
    try:
        socket.getaddrinfo(host, None)
    except socket.gaierror as error:
        if error.errno in (socket.EAI_NONAME, socket.EAI_NODATA):
            raise AddressError("no host has this name: name an address of this machine") from None
    return host


def parse_networks(items: tuple[str, ...]) -> tuple[str, ...]:
    """Addresses and networks, each in one form. Raises AddressError, also for a network of all
    addresses."""
    try:
        networks = [ipaddress.ip_network(item) for item in items]
    except ValueError:
        raise AddressError(
            "each proxy is named by its IP address or its network, as in 10.0.0.7 or 172.16.0.0/12"
        ) from None
    if any(network.prefixlen == 0 for network in networks):
        raise AddressError("a network of all addresses would trust each caller: name the proxies")
    return tuple(map(str, networks))


def parse_hosts(items: tuple[str, ...]) -> tuple[str, ...]:
    """Hosts on the web, as `docs.example.org`, `*.example.org`, `http://[::1]:8000`; without a
    scheme, https. Raises AddressError.
    """
    return tuple(_listed_host(item, ("https", "http")) for item in items)


def parse_repository_hosts(items: tuple[str, ...]) -> tuple[str, ...]:
    """Hosts as `parse_hosts` takes them, and `ssh://git.example.org`. Raises AddressError."""
    return tuple(_listed_host(item, ("https", "http", "ssh")) for item in items)


def parse_host_names(items: tuple[str, ...]) -> tuple[str, ...]:
    """Names by which a server is called, `*.` before them, or `*` for any. Raises AddressError."""
    for name in items:
        if name != "*":
            _check_host(name.removeprefix("*.").removeprefix("[").removesuffix("]"))
    return items


def parse_origins(items: tuple[str, ...]) -> tuple[str, ...]:
    """Origins of web pages, in the form in which browsers send them. Raises AddressError."""
    for item in items:
        parts = _split(item, ("https", "http"))
        _host(parts)
        is_origin = "@" not in item and item == f"{parts.scheme}://{parts.netloc}".lower()
        if not is_origin or _port(parts) == {"https": 443, "http": 80}[parts.scheme]:
            raise AddressError(
                "an origin has a scheme and a host in lower case, a port unless it is the default "
                "port, and no path, as in https://tools.example.org or http://localhost:3000"
            )
    return items


def _listed_host(text: str, schemes: Collection[str]) -> str:
    scheme, separator, host = text.rpartition("://")
    if separator and scheme.lower() not in schemes:
        raise AddressError(f"a host of this list begins with {_begins(schemes)}, or has no scheme")
    parts = _split(f"http://{host.removeprefix('*.')}", ("http",))
    _host(parts)
    _port(parts)
    if "@" in parts.netloc or parts.path or parts.query:
        raise AddressError("a host is written as a name, with a port where it needs one")
    return text


def _split(text: str, schemes: Collection[str]) -> SplitResult:
    text = text.strip()
    if not text.lower().startswith(tuple(f"{scheme}://" for scheme in schemes)):
        raise AddressError(f"an address begins with {_begins(schemes)} here")
    if _CONTROL_OR_SPACE.search(text):
        raise AddressError("an address has no blanks and no control characters")
    if "#" in text:
        raise AddressError(f"an address has no # here; {_ESCAPE}")
    try:
        return urlsplit(text)
    except ValueError:  # brackets that match no IPv6 address; the error repeats the text
        raise AddressError(f"this is not an address; {_ESCAPE}") from None


def _begins(schemes: Collection[str]) -> str:
    *first, last = (f"{scheme}://" for scheme in schemes)
    return f"{', '.join(first)} or {last}" if first else last


def _host(parts: SplitResult) -> str:
    host = unquote(parts.hostname or "")
    if not host:
        raise AddressError(f"an address names a host; {_ESCAPE}")
    _check_host(host)
    return host


def _check_host(host: str) -> None:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        # Libraries translate other letters in different ways, so to different servers.
        if not host.isascii():
            raise AddressError("a host with other letters than ASCII is written xn--...") from None
        if _HOST_NAME.fullmatch(host) is None:
            raise AddressError(f"the host is neither a name nor an IP address; {_ESCAPE}") from None


def _socket(parts: SplitResult) -> str:
    path = unquote(parts.path)
    if parts.netloc.rpartition("@")[2] or not path.startswith("/") or path == "/":
        raise AddressError("a Unix socket is written unix:///absolute/path")
    if "\0" in path or len(os.fsencode(path)) > _SOCKET_BYTES:
        raise AddressError(
            f"the path of a Unix socket has at most {_SOCKET_BYTES} bytes, and no NUL"
        )
    return path


def _port(parts: SplitResult) -> int | None:
    host_and_port = parts.netloc.rpartition("@")[2]
    if not host_and_port.rpartition("]")[2].endswith(":"):
        try:
            if parts.port != 0:
                return parts.port
        except ValueError:  # the error repeats the text, which may be a part of a password
            pass
    raise AddressError(f"the port is a number from 1 to 65535; {_ESCAPE}") from None


def _database(text: str) -> int:
    if text not in map(str, range(DATABASES)):
        raise AddressError(f"the database is a number from 0 to {DATABASES - 1}")
    return int(text)


def _options(parts: SplitResult) -> Mapping[str, str]:
    try:
        pairs = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    except ValueError:
        raise AddressError(f"the part after ? has to be name=value; {_ESCAPE}") from None
    if len(dict(pairs)) < len(pairs):
        raise AddressError("the address has an option twice: leave one of them out")
    return dict(pairs)


def _check_options(options: Mapping[str, str], names: Collection[str], scheme: str) -> None:
    """Refuse misspelt options, and options that only redis-py or only Celery would obey."""
    if options.keys() - set(names):
        allowed = f"only the options {', '.join(sorted(names))}" if names else "no options"
        raise AddressError(f"an address with {scheme} has {allowed}; {_ESCAPE}")


_DATABASE_OPTIONS = {"unix": "db", "redis+socket": "virtual_host"}
"""The option that names the database, by the schemes of Unix sockets."""
_TLS_OPTIONS = frozenset(
    {"ssl_cert_reqs", "ssl_check_hostname", "ssl_ca_certs", "ssl_certfile", "ssl_keyfile"}
)
"""The options of TLS, as redis-py and Celery spell them."""


def _tls(options: Mapping[str, str]) -> Tls:
    tls = Tls(
        _choice(options, "ssl_cert_reqs", _VERIFY),
        _choice(options, "ssl_check_hostname", _SWITCH),
        options.get("ssl_ca_certs"),
        options.get("ssl_certfile"),
        options.get("ssl_keyfile"),
    )
    if tls.key_file and not tls.certificate_file:
        raise AddressError("ssl_keyfile goes with ssl_certfile")
    _load(tls)
    return tls


def _choice(options: Mapping[str, str], name: str, choices: Mapping[str, bool]) -> bool:
    text = options.get(name)
    if text is None:
        return True
    if text.lower() not in choices:
        yes, no = next(iter(choices)), next(word for word, value in choices.items() if not value)
        raise AddressError(f"{name} is {yes} or {no}")
    return choices[text.lower()]


def _load(tls: Tls) -> None:
    """Refuse files that a connection could not use: each try would fail, forever."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        if tls.ca_file is not None:
            context.load_verify_locations(tls.ca_file)
        if tls.certificate_file is not None:
            context.load_cert_chain(tls.certificate_file, tls.key_file, password=_no_passphrase)
    except (OSError, ValueError):
        raise AddressError(
            "a file of ssl_ca_certs, ssl_certfile or ssl_keyfile is missing, is unreadable, is not "
            "PEM, or needs a passphrase"
        ) from None


def _no_passphrase() -> str:
    raise ValueError("a service cannot type a passphrase")


def _query(tls: Tls) -> str:
    options = {
        "ssl_cert_reqs": "required" if tls.verify else "none",
        "ssl_check_hostname": str(tls.check_hostname).lower(),
        "ssl_ca_certs": tls.ca_file,
        "ssl_certfile": tls.certificate_file,
        "ssl_keyfile": tls.key_file,
    }
    return urlencode({name: value for name, value in options.items() if value is not None})


def none_if_empty(value: Any) -> Any:
    """None for an empty text, which compose sends for a variable that is not set."""
    return (value.strip() or None) if isinstance(value, str) else value


def _redis_field(value: Any) -> Any:
    return parse_redis(value) if isinstance(value, str) else value


def _smtp_field(value: Any) -> Any:
    value = none_if_empty(value)
    return parse_smtp(value) if isinstance(value, str) else value


SmtpField = Annotated[SmtpAddress | None, NoDecode, BeforeValidator(_smtp_field)]
OptionalMailAddress = Annotated[
    Annotated[str, AfterValidator(parse_mail_address)] | None, BeforeValidator(none_if_empty)
]
RedisField = Annotated[RedisAddress, NoDecode, BeforeValidator(_redis_field)]
HttpUrl = Annotated[str, AfterValidator(parse_http)]
OptionalHttpUrl = Annotated[HttpUrl | None, BeforeValidator(none_if_empty)]
OptionalDestination = Annotated[
    Annotated[str, AfterValidator(parse_destination)] | None, BeforeValidator(none_if_empty)
]
OptionalCompleteUrl = Annotated[
    Annotated[str, AfterValidator(parse_complete_http)] | None, BeforeValidator(none_if_empty)
]
ListenHost = Annotated[str, AfterValidator(parse_listen_host)]

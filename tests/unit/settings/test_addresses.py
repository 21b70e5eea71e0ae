"""Addresses are parsed into types, and no error about an address repeats a part of it."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest
from kombu.utils.url import url_to_parts
from pydantic import ValidationError
from redis.asyncio.connection import SSLConnection, parse_url
from support.servers.certificates import self_signed

from cli.context import load, open_service
from cli.errors import BadSettings
from jobs.queue.hints import celery_app
from settings.base import FettleSettings, StoreSettings
from settings.client import ClientSettings
from settings.providers import ProviderSettings
from settings.reading.addresses import (
    MASK,
    AddressError,
    RedisAddress,
    Tls,
    http_origin,
    parse_redis,
)
from settings.starting.provenance import complaints, trace, variable
from settings.starting.sections import SECTIONS
from settings.webhooks import WebhookSettings

pytestmark = pytest.mark.matrix(every=5)

SECRET = "hunter2secret"


@pytest.fixture(autouse=True)
def own_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FETTLE_CONFIG", "")


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("redis://db", RedisAddress("db")),
        (" redis://db:6380/15\n", RedisAddress("db", 6380, 15)),
        ("REDIS://my_redis:1/", RedisAddress("my_redis", 1)),
        ("redis://u%40:p%2F%3A@[::1]:7/2", RedisAddress("::1", 7, 2, "u@", "p/:")),
        ("rediss://:p@db", RedisAddress("db", password="p", tls=Tls())),
        ("rediss://db?ssl_cert_reqs=CERT_REQUIRED", RedisAddress("db", tls=Tls())),
        ("rediss://db?ssl_cert_reqs=none", RedisAddress("db", tls=Tls(verify=False))),
        ("unix:///run/redis.sock", RedisAddress(port=0, socket="/run/redis.sock")),
        ("unix://:p@/run/s?db=3", RedisAddress("", 0, 3, "", "p", "/run/s")),
        ("redis+socket:///s?virtual_host=3", RedisAddress(port=0, database=3, socket="/s")),
    ],
)
def test_redis_and_celery_read_the_same_server_from_an_address(
    text: str, address: RedisAddress
) -> None:
    found = parse_redis(text)
    assert found == parse_redis(found.url) == address
    assert "p/" not in f"{found} {found!r}"
    ours = parse_url(found.url)
    assert ours.get("password", "") == address.password
    assert ours.get("db") == address.database
    connection = celery_app(found.url).connection_for_write()
    if address.socket:
        theirs = url_to_parts(connection.hostname)
        assert f"/{theirs.path}" == address.socket == ours["path"]
        assert theirs.query == {"virtual_host": str(address.database)}
        assert (theirs.password or "") == address.password
        return
    assert (connection.hostname, connection.port) == (address.host, address.port)
    assert (ours["host"], ours["port"]) == (address.host, address.port)
    assert connection.virtual_host == str(address.database)
    assert (connection.password or "", connection.userid or "") == (
        address.password,
        address.username,
    )
    assert (ours.get("connection_class") is SSLConnection) is bool(address.tls)
    options = connection.ssl or {}
    assert bool(options) is bool(address.tls)
    if address.tls:
        assert options["ssl_cert_reqs"] == ("required" if address.tls.verify else "none")
        assert options["ssl_check_hostname"] is True
        assert options.items() <= ours.items()


UNFIT = [
    "",
    SECRET,
    f"amqp://:{SECRET}@db:5672//",
    f"sentinel://:{SECRET}@db:26379/0",
    f"redis+socket://:{SECRET}@/run/s?db=1",
    f"http://:{SECRET}@db",
    f"redis://:{SECRET}@db:0/0",
    f"redis://:{SECRET}@db:99999/0",
    f"redis://:{SECRET}@db:port/0",
    f"redis://:{SECRET}@db:/0",
    f"redis://:{SECRET}@db:6379/abc",
    f"redis://:{SECRET}@db:6379/99",
    f"redis://:{SECRET}@db:6379/-1",
    f"redis://:{SECRET}@db:6379/0/1",
    f"redis://:{SECRET}@db:6379/{'9' * 5_000}",
    f"redis://:{SECRET}@{'d' * 64}:6379/0",
    f"redis://:{SECRET}@{'d.' * 127}db:6379/0",
    f"redis://:{SECRET}@256.1.1.1:6379/0",
    f"redis://:{SECRET}@d\u00fc.example:6379/0",
    f"redis://:{SECRET}@/0",
    f"redis://:{SECRET}/x@db:6379/0",
    f"redis://:{SECRET}#x@db:6379/0",
    f"redis://:{SECRET}?x@db:6379/0",
    f"redis://:x:{SECRET}/@db:6379/0",
    f"redis://:{SECRET}[@db:6379/0",
    f"redis://:{SECRET}\u2100@db:6379/0",
    f"redis://:{SECRET} @db:6379/0",
    f"redis://:{SECRET}\n@db:6379/0",
    f"redis://:{SECRET}@d b",
    f"redis://:{SECRET}@-db;redis://other",
    f"redis://:{SECRET}@db?ssl_cert_reqs=none",
    f"redis://:{SECRET}@db?socket_timeout=1",
    f"redis://:{SECRET}@db?db=1",
    f"rediss://:{SECRET}@db?ssl_cert_reqs=optional",
    f"rediss://:{SECRET}@db?ssl_ciphers={SECRET}",
    f"rediss://:{SECRET}@db?ssl_ca_certs=/nowhere/{SECRET}",
    f"rediss://:{SECRET}@db?ssl_keyfile=/nowhere/{SECRET}",
    f"rediss://:{SECRET}@db?{SECRET}",
    f"rediss://:{SECRET}@db?ssl_cert_reqs=required&ssl_cert_reqs=none",
    f"unix://:{SECRET}@relative/s",
    f"unix://:{SECRET}@/",
    f"unix://:{SECRET}@/run/s%00",
    f"unix://:{SECRET}@/{'s' * 107}",
    f"unix:///run/s?db={SECRET}",
    f"unix:///run/s?virtual_host={SECRET}",
]


@pytest.mark.parametrize("text", UNFIT)
def test_an_unfit_redis_address_is_refused_in_one_sentence_without_its_text(text: str) -> None:
    with pytest.raises(AddressError) as refused:
        parse_redis(text)
    message = str(refused.value)
    assert SECRET not in message
    assert SECRET[:4] not in message
    assert "\n" not in message
    assert len(message) < 300
    assert refused.value.__cause__ is None
    assert refused.value.__suppress_context__ or refused.value.__context__ is None


def test_tls_files_are_loaded_at_the_start(tmp_path: Path) -> None:
    certificate, _ = self_signed(tmp_path, "localhost")
    fit = parse_redis(f"rediss://db?ssl_ca_certs={certificate}")
    assert fit.tls == Tls(ca_file=str(certificate))
    assert parse_redis(fit.url) == fit
    (tmp_path / "not.pem").write_text("no certificate")
    with pytest.raises(AddressError, match="ssl_ca_certs"):
        parse_redis(f"rediss://db?ssl_ca_certs={tmp_path}/not.pem")


@pytest.mark.parametrize("name", ["redis_url", "broker_url"])
@pytest.mark.parametrize("off", ["ssl_cert_reqs=none", "ssl_check_hostname=false"])
def test_production_refuses_an_unverified_server(name: str, off: str) -> None:
    unsafe = {name: f"rediss://:{SECRET}@db?{off}"}
    StoreSettings(**unsafe)
    with pytest.raises(ValidationError) as refused:
        StoreSettings(env="production", **unsafe)
    (message,) = complaints(StoreSettings, refused.value)
    assert message.startswith(f"FETTLE_{name.upper()} switches the verification of TLS off")
    assert SECRET not in f"{message} {refused.value}"
    StoreSettings(env="production", **{name: f"rediss://:{SECRET}@db"})


def fields() -> list[tuple[type[FettleSettings], str]]:
    return [(kind, name) for _, kind in SECTIONS for name in kind.model_fields]


@pytest.mark.parametrize("kind", dict.fromkeys(kind for kind, _ in fields()))
@pytest.mark.parametrize(
    "text",
    [
        f"http://u:{SECRET}@[x",
        f"http://u:{SECRET}/@host:port",
        f"http://u:{SECRET}\u2100@host",
        f"://:{SECRET}@host",
        f"https://:{SECRET}@host:99999",
        f"[{SECRET}",
        f'{{"a": "{SECRET}"',
        f"{SECRET}\u2028 =",
    ],
)
def test_no_setting_repeats_a_secret_in_the_wrong_place(
    monkeypatch: pytest.MonkeyPatch, kind: type[FettleSettings], text: str
) -> None:
    """Any setting with any text is accepted, or is refused without a part of the text. The refusal
    is pydantic's ValidationError, with which programs exit with code 2.
    """
    for name, field in kind.model_fields.items():
        with monkeypatch.context() as patch:
            patch.setenv(variable(kind, name, field), text)
            try:
                kind()
            except ValidationError as error:
                messages = f"{complaints(kind, error)} {error}"
                assert SECRET not in messages, name
                assert SECRET[:5] not in messages, name


ADDRESSES = {
    "s3_endpoint",
    "url",
    "flower_url",
    "webhook_url",
    "public_url",
    "setup_index",
    "setup_npm_registry",
    *(name for kind, name in fields() if name.endswith("_base_url")),
}


@pytest.mark.parametrize(
    "text",
    [
        *("ftp://host", "http://", "http://ho st", "https://h:0", "https://h:port", "h:80"),
        *("https://d\u00fc.example", f"https://{'d' * 64}", "https://1.2.3"),
    ],
)
@pytest.mark.parametrize("name", sorted(ADDRESSES - {"ollama_base_url"}))
def test_every_address_on_the_web_is_parsed(
    monkeypatch: pytest.MonkeyPatch, name: str, text: str
) -> None:
    kind = next(kind for kind, field_name in fields() if field_name == name)
    monkeypatch.setenv(variable(kind, name, kind.model_fields[name]), text)
    with pytest.raises(ValidationError) as refused:
        kind()
    assert any(wrong["loc"] for wrong in refused.value.errors()), "the address itself is refused"


@pytest.mark.parametrize("name", sorted(ADDRESSES))
def test_an_address_that_paths_are_added_to_has_no_options(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    complete = {"flower_url", "webhook_url"}
    kind = next(kind for kind, field_name in fields() if field_name == name)
    monkeypatch.setenv(variable(kind, name, kind.model_fields[name]), f"https://host/?key={SECRET}")
    monkeypatch.setenv("FETTLE_WEBHOOK_SECRET", "whsec_" + "A" * 32)
    if name in complete:
        assert getattr(kind(), name) == f"https://host/?key={SECRET}"
        return
    with pytest.raises(ValidationError) as refused:
        kind()
    assert "an address has no ? here" in str(refused.value)
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "fit", "unfit"),
    [
        ("repo_hosts", ["git.x", "*.x:8443", "ssh://git.x", "http://[::1]:3000"], ["ftp://x", "*"]),
        ("fetch_hosts", ["docs.x", "*.x"], ["ssh://x", "x/path", "x:99999", "u:p@x"]),
        ("setup_hosts", ["pypi.org"], ["a b"]),
        ("deliver_hosts", ["github.com=github"], ["u:p@github.com=github", "x"]),
        ("allowed_hosts", ["*", "*.x", "fettle.x", "::1"], ["https://fettle.x", "d\u00fc.x"]),
        (
            "cors_origins",
            ["", "https://x.example", "http://localhost:3000,http://[::1]:8080"],
            ["*", "null", "x.example", "https://X.example", "https://x.example/"]
            + [f"https://{host}" for host in ("u@x.y", "x.y:443", "*.example", "x.y?a=b")],
        ),
        ("host", ["0.0.0.0", "::", "localhost"], ["http://0.0.0.0", "1.2.3.4:80"]),
        ("worker_metrics_host", ["0.0.0.0"], ["*"]),
        (
            "forwarded_allow_ips",
            ["", "10.0.0.7", "10.0.0.0/8, ::1"],
            ["*", "proxy.x", "10.0.0.0/99", "10.0.0.7/8", "10.0.0.7,::/0"],
        ),
        (
            "sandbox_engine",
            ["unix:///run/d.sock", "tcp://h:2376"],
            ["tcp://h", "tcp://h:99999", "unix:///d?db=1", f"unix:///{'d' * 107}"],
        ),
    ],
)
def test_hosts_networks_and_the_engine_are_parsed(
    monkeypatch: pytest.MonkeyPatch, name: str, fit: list[str], unfit: list[str]
) -> None:
    kind = next(kind for kind, field_name in fields() if field_name == name)
    for text in fit:
        monkeypatch.setenv(f"FETTLE_{name.upper()}", text)
        kind()
    for text in unfit:
        monkeypatch.setenv(f"FETTLE_{name.upper()}", text)
        with pytest.raises(ValidationError):
            kind()


@pytest.mark.parametrize("name", ["host", "worker_metrics_host"])
def test_a_name_to_listen_on_exists(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """A name server that does not answer now may answer at the next start."""
    kind = next(kind for kind, field_name in fields() if field_name == name)

    def resolve(host: str, _port: None) -> None:
        code = socket.EAI_NONAME if host == "misspelt.example" else socket.EAI_AGAIN
        raise socket.gaierror(code, "the resolver's own words")

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    with pytest.raises(ValidationError, match="no host has this name"):
        kind(**{name: "misspelt.example"})
    assert getattr(kind(**{name: "api.example"}), name) == "api.example"


@pytest.mark.parametrize(
    "proxy",
    [f"http://me:{SECRET}/@proxy:3128", f"me:{SECRET}@proxy:port", "http://pro xy", "http://"],
)
def test_a_proxy_is_parsed(monkeypatch: pytest.MonkeyPatch, proxy: str) -> None:
    for name in ("HTTP_PROXY", "https_proxy"):
        with monkeypatch.context() as patch:
            patch.setenv(name, proxy)
            with pytest.raises(ValidationError, match=f"{name} names a malformed proxy") as refused:
                ProviderSettings()
            with pytest.raises(BadSettings, match=f"{name} names a malformed proxy") as ended:
                open_service({"url": "http://fettle.test"})
            assert SECRET not in f"{refused.value} {ended.value}"
            patch.setenv(name, f"me:{SECRET}@proxy:3128")
            ProviderSettings()
            open_service({"url": "http://fettle.test"})


def test_an_origin_is_scheme_host_and_port() -> None:
    assert http_origin("https://Fettle.x/base") == http_origin("https://fettle.x:443")
    assert http_origin("http://fettle.x") != http_origin("https://fettle.x")
    assert http_origin("https://fettle.x") != http_origin("https://fettle.x.attacker.y")


def test_an_address_is_shown_without_its_password_and_its_query() -> None:
    def traced_url(url: str) -> str:
        flags = {"webhook_url": url, "webhook_secret": "whsec_" + "A" * 32}
        return {setting.name: setting.value for setting in trace(WebhookSettings, flags)}[
            "webhook_url"
        ]

    assert traced_url(f"https://hooks.x/a?key={SECRET}") == f"https://hooks.x/a?{MASK}"
    assert traced_url("https://hooks.x/a") == "https://hooks.x/a"
    chat = f"https://hooks.slack.com/services/T0/B0/{'x' * 24}"
    assert traced_url(chat) == f"https://hooks.slack.com/services/T0/B0/{MASK}"


def test_an_invalid_flag_is_named_as_a_flag(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FETTLE_URL", "http://fettle.x")
    with pytest.raises(BadSettings, match=r"FETTLE_URL \(flag\): an address begins with"):
        load(ClientSettings, url="ftp://fettle.x")


def test_settings_show_no_password() -> None:
    settings = StoreSettings(redis_url=f"redis://:{SECRET}@db")
    assert SECRET not in f"{settings!r} {settings}"

"""Redis over TLS: each client verifies the server before it sends the password."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest
import redis
from kombu.exceptions import KombuError
from redis.exceptions import ConnectionError as Unreachable
from support.servers import redis_servers
from support.servers.certificates import self_signed
from support.servers.tls_front import TlsFront, tls_front

from api.auth.limits import RateLimit
from cli.local import ports
from jobs.model.spec import Priority
from jobs.queue import hints
from jobs.queue.hints import Hints, JobPicker, celery_app
from jobs.queue.ready import Ready
from jobs.redis.connection import connect
from settings.reading.addresses import parse_redis

PASSWORD = "hushhush"
BINARY = next(iter(redis_servers.binaries().values()))
REPOSITORY = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[redis_servers.RedisServer]:
    """A Redis with a password, without TLS."""
    with redis_servers.start(BINARY, tmp_path_factory.mktemp("redis"), tcp=True) as server:
        with redis.Redis.from_url(server.url) as client:
            client.config_set("requirepass", PASSWORD)
        yield server


@pytest.fixture
def front(server: redis_servers.RedisServer, tmp_path: Path) -> Iterator[TlsFront]:
    with tls_front(tmp_path / "front", redis_servers.port_of(server)) as front:
        yield front


def address(front: TlsFront, ca: Path | None, host: str = "localhost") -> str:
    """The address as a user writes it."""
    options = f"?ssl_ca_certs={ca}" if ca else ""
    return f"rediss://:{PASSWORD}@{host}:{front.port}/3{options}"


def make_other_authority(folder: Path) -> Path:
    """The certificate of another authority."""
    folder.mkdir()
    return self_signed(folder, "localhost")[0]


async def of_record(url: str) -> None:
    client = connect(url, seconds=20)
    try:
        await client.ping()
    finally:
        await client.aclose()


async def of_celery(url: str) -> None:
    with celery_app(url).connection_for_read() as connection:
        connection.ensure_connection(max_retries=1, interval_start=0)
        connection.default_channel.client.ping()


@pytest.mark.parametrize("client", [of_record, of_celery])
async def test_a_verified_server_is_used(front: TlsFront, client: Callable[[str], object]) -> None:
    await client(address(front, front.certificate))  # type: ignore[misc]
    assert PASSWORD.encode() in front.received


@pytest.mark.parametrize("client", [of_record, of_celery])
async def test_verification_is_off_if_the_address_says_so(
    front: TlsFront, client: Callable[[str], object]
) -> None:
    await client(parse_redis(f"{address(front, None)}?ssl_cert_reqs=none").url)  # type: ignore[misc]
    assert PASSWORD.encode() in front.received


@pytest.mark.parametrize("client", [of_record, of_celery])
@pytest.mark.parametrize("fault", ["another authority", "no authority", "another name"])
async def test_no_other_server_gets_the_password(
    front: TlsFront, tmp_path: Path, client: Callable[[str], object], fault: str
) -> None:
    ca = {
        "another authority": lambda: make_other_authority(tmp_path / "other"),
        "no authority": lambda: None,
        "another name": lambda: front.certificate,
    }[fault]()
    host = "127.0.0.1" if fault == "another name" else "localhost"
    written = address(front, ca, host)
    for url in (written, parse_redis(written).url):
        with pytest.raises((Unreachable, KombuError)) as refused:
            await client(url)  # type: ignore[misc]
        assert "certificate verify failed" in f"{refused.value} {refused.value.__cause__}"
    assert front.received == b""


def test_hints_go_through_tls_and_to_no_other_server(front: TlsFront, tmp_path: Path) -> None:
    stranger = address(front, make_other_authority(tmp_path / "other"))
    with closing(Hints(stranger)) as sender:
        sender.send("x", Priority.HIGH)
        until(lambda: not sender._unsent.qsize())
    assert JobPicker(stranger).pick("x", 0) == "x"
    assert front.received == b""
    url = address(front, front.certificate)
    with closing(Hints(url)) as sender, redis.Redis.from_url(url) as client:
        sender.send("x", Priority.HIGH)
        until(lambda: client.llen(hints.hint_list(Priority.HIGH)) == 1)
        Ready(client).add("urgent", Priority.HIGH, "default")
        client.flushdb()


async def test_requests_are_counted_through_tls(front: TlsFront) -> None:
    limit = RateLimit(connect(address(front, front.certificate), seconds=20), "1/hour")
    try:
        assert await limit.wait_seconds("key") == 0
        assert await limit.wait_seconds("key") > 0
    finally:
        await limit.close()


@pytest.fixture
def flower(tmp_path: Path) -> Iterator[Callable[[str], str]]:
    """Starts `fettle flower` over a broker; returns its address."""
    processes: list[subprocess.Popen[bytes]] = []

    def start(broker_url: str) -> str:
        (port,) = ports.free(1)
        env = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(REPOSITORY),
            "FETTLE_BROKER_URL": broker_url,
            "FETTLE_FLOWER_PASSWORD": "f",
            "FETTLE_FLOWER_PORT": str(port),
        }
        argv = [sys.executable, "-P", "-m", "cli", "flower"]
        with (tmp_path / "flower.log").open("wb") as log:
            processes.append(subprocess.Popen(argv, env=env, cwd=tmp_path, stdout=log, stderr=log))
        return f"http://fettle:f@127.0.0.1:{port}"

    yield start
    for process in processes:
        process.terminate()
        process.wait(20)


def broker_page(url: str) -> str:
    """The broker page of Flower, after Flower has started."""
    deadline = time.monotonic() + 60
    while True:
        try:
            answer = httpx.get(f"{url}/broker", timeout=20)
        except httpx.TransportError:
            assert time.monotonic() < deadline, "Flower does not answer"
            time.sleep(0.1)
        else:
            return answer.text


def test_flower_verifies_the_broker_and_runs_no_file_of_the_folder(
    front: TlsFront, flower: Callable[[str], str], tmp_path: Path
) -> None:
    (tmp_path / "flowerconfig.py").write_text("open('ran', 'w').close()\n")
    stranger = flower(f"rediss://:{PASSWORD}@localhost:{front.port}/3")
    assert broker_page(stranger)
    assert front.received == b""
    fit = flower(f"rediss://:{PASSWORD}@localhost:{front.port}/3?ssl_ca_certs={front.certificate}")
    page = broker_page(fit)
    assert re.search(r"rediss://", page), page
    until(lambda: PASSWORD.encode() in front.received)
    assert PASSWORD not in page
    assert not (tmp_path / "ran").exists()


def until(condition: Callable[[], object], seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)

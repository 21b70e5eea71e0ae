"""The API as a process: streams, shutdown, unread bodies, and an unavailable Redis."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import socket
import time
from urllib.parse import urlsplit

import pytest
from support.pages.api_front import RESULT, done
from support.processes.api_process import (
    ApiProcess,
    api_environment,
    run_until_refused,
    running,
    stream,
)
from support.processes.preloaded import start_process
from support.servers import redis_servers

from cli.local import ports
from jobs.model.events import NewEvent
from jobs.service import Operations
from jobs.store import LeaseRef, Writes
from jobs.store.events import POLL_SECONDS
from jobs.store.redis_store import RedisStore, connect
from settings.base import DEVELOPMENT_KEY

REDIS = shutil.which("redis-server") or next(iter(redis_servers.binaries().values()))
MEGABYTE = b" " * 1024 * 1024
CHUNKED = (
    b"POST /jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"X-API-Key: " + DEVELOPMENT_KEY.encode() + b"\r\nTransfer-Encoding: chunked\r\n\r\n"
)
EVERYTHING = [
    ("POST", "/jobs"),
    ("POST", "/jobs/{id}/cancel"),
    ("POST", "/jobs/{id}/review"),
    ("GET", "/jobs"),
    ("GET", "/jobs/{id}"),
    ("GET", "/jobs/{id}/events"),
    ("GET", "/jobs/{id}/files"),
    ("GET", "/jobs/{id}/artifacts/x"),
    ("GET", "/keys"),
    ("POST", "/keys"),
    ("GET", "/system"),
]


@pytest.fixture(scope="module")
def redis_server(tmp_path_factory):
    with redis_servers.start(REDIS, tmp_path_factory.mktemp("redis"), tcp=True) as server:
        yield server


@pytest.fixture(scope="module")
def api(redis_server, tmp_path_factory):
    folder = tmp_path_factory.mktemp("api")
    env = api_environment(redis_server.url, folder, stream_heartbeat_seconds="0.3")
    with running(env, folder / "log") as api:
        yield api


@pytest.fixture
async def client(api):
    async with api.client() as client:
        yield client


@pytest.fixture
async def worker(redis_server):
    """The worker of a job, played by the test."""
    store = RedisStore(connect(redis_server.url, seconds=20))
    yield Operations(store, lambda *_: None)
    await store.close()


async def submit(client, **body):
    answer = await client.post("/jobs", json={"task": "x", **body})
    assert answer.status_code == 202, answer.text
    return answer.json()["id"]


async def hold(worker, job_id):
    return LeaseRef(job_id, done(await worker.claim(job_id, "w")).epoch)


async def test_a_stream_reports_every_event_at_once_and_ends(client, worker):
    job_id = await submit(client)
    lines = []

    async def follow():
        async with stream(client, job_id) as source:
            lines.extend([event async for event in source.aiter_sse()])

    following = asyncio.create_task(follow())
    await asyncio.sleep(0.5)  # a heartbeat passes without an event
    lease = await hold(worker, job_id)
    fact = NewEvent("p", "planned", {"steps": ["a\nb"], "source": "model", "note": None})
    await worker.store.write(job_id, lease.epoch, Writes(events=[fact]))
    done(await worker.succeed(lease, RESULT, ""))
    await asyncio.wait_for(following, 20)
    assert [event.event for event in lines] == ["submitted", "started", "planned", "succeeded"]
    assert [event.id for event in lines] == ["1", "2", "3", "4"]
    planned = json.loads(lines[2].data)
    assert (planned["seq"], planned["kind"], planned["data"]["steps"]) == (3, "planned", ["a\nb"])


@pytest.mark.invariant("J12")
async def test_a_stream_is_resumed_after_the_last_event(client, worker):
    job_id = await submit(client)
    done(await worker.succeed(await hold(worker, job_id), RESULT, ""))
    async with stream(client, job_id, **{"Last-Event-ID": "1"}) as source:
        assert [event.id async for event in source.aiter_sse()] == ["2", "3"]
    answer = await client.get(f"/jobs/{job_id}/events", headers={"Last-Event-ID": "3"})
    assert (answer.status_code, answer.content) == (204, b"")
    listed = await client.get(
        f"/jobs/{job_id}/events?after=2", headers={"Accept": "application/json"}
    )
    assert [event["seq"] for event in listed.json()["events"]] == [3]
    assert listed.json()["final"] is True
    bad = await client.get(f"/jobs/{job_id}/events", headers={"Last-Event-ID": "x"})
    assert bad.status_code == 422


async def test_a_client_that_disconnects_frees_its_resources(api, client):
    job_id = await submit(client)

    async def figures():
        lines = (await client.get("/metrics")).text.splitlines()
        streams = next(line for line in lines if line.startswith("fettle_event_streams "))
        return float(streams.split()[1]), api.open_files()

    async with asyncio.timeout(20):
        while (await figures())[0]:  # the connections of an earlier test
            await asyncio.sleep(0.02)
    _, before = await figures()
    async with api.client() as stream_client, contextlib.AsyncExitStack() as stack:
        sources = [
            await stack.enter_async_context(stream(stream_client, job_id)) for _ in range(20)
        ]
        following = [source.aiter_sse() for source in sources]
        for events in following:
            await anext(events)
        streams, files = await figures()
        assert (streams, files >= before + 20) == (20.0, True)
    async with asyncio.timeout(20):
        while streams or files > before + 10:  # connections to Redis stay in their pool
            await asyncio.sleep(0.02)
            streams, files = await figures()


async def test_a_body_that_is_too_large_is_refused_before_it_is_read(api):
    address = urlsplit(api.url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    writer.write(
        b"POST /jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"X-API-Key: " + DEVELOPMENT_KEY.encode() + b"\r\nContent-Length: 99999999999\r\n\r\n"
    )
    head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 20)
    assert head.startswith(b"HTTP/1.1 413")
    body = await asyncio.wait_for(reader.read(), 20)
    assert b"/problems/body-too-large" in body, "and the connection is closed after it"
    writer.close()


async def test_a_client_that_reads_after_sending_learns_that_the_body_was_too_large(api):
    """Most clients read only then. The answer was sent long before; a reset would have discarded
    it.
    """
    status, sent = await asyncio.to_thread(sent_before_read, api, 24 * 1024 * 1024)
    assert (status, sent) == (b"HTTP/1.1 413", True)


def sent_before_read(api, size):
    """The start of the answer to a chunked body (none: a reset), and whether all was sent."""
    address, sent = urlsplit(api.url), False
    with socket.create_connection((address.hostname, address.port), timeout=20) as client:
        client.sendall(CHUNKED)
        with contextlib.suppress(ConnectionError):
            for _ in range(size // len(MEGABYTE)):
                client.sendall(b"100000\r\n" + MEGABYTE + b"\r\n")
            sent = True
        try:
            return client.recv(12), sent
        except ConnectionError:
            return b"", sent


async def test_logs_are_one_object_a_line_without_secrets(api, client):
    job_id = await submit(client)
    secret = (await client.post("/keys", json={"name": "a", "scopes": ["read"]})).json()["secret"]
    await client.get(f"/jobs/{job_id}", headers={"X-API-Key": secret, "X-Request-Id": "look-me-up"})
    async with asyncio.timeout(20):
        while not (log_lines := [x for x in api.logged() if x.get("request_id") == "look-me-up"]):
            await asyncio.sleep(0.01)  # the line is written after the answer
    text = api.log.read_text()
    assert all(
        json.loads(line) for line in text.split("\n")[:-1]
    )  # the last line may not be written yet
    assert [(line["event"], line["path"], line["status"]) for line in log_lines] == [
        ("request", f"/jobs/{job_id}", 200)
    ]
    assert secret not in text
    assert DEVELOPMENT_KEY not in text


async def at_once(lines, number):
    """Whether an event arrives before a reader's next poll."""
    started_at = time.monotonic()
    while not (await anext(lines)).startswith(f"id: {number}"):
        pass
    return time.monotonic() - started_at < POLL_SECONDS / 2


async def test_streams_report_events_at_once_and_do_not_delay_the_shutdown(
    redis_server, worker, tmp_path
):
    env = api_environment(redis_server.url, tmp_path, shutdown_seconds="60")
    with running(env, tmp_path / "log") as api:
        async with api.client() as client:
            job_id = await submit(client)
            async with stream(client, job_id) as source:
                lines = source.response.aiter_lines()
                while not (await anext(lines)).startswith("id: 1"):
                    pass
                lease, last_seen = await hold(worker, job_id), 2
                while not await at_once(lines, last_seen):
                    # the machine may be busy, but not several times in succession: the notification
                    # causes the event
                    last_seen += 1
                    assert last_seen < 5, "each came with the next look alone"
                    fact = NewEvent(f"e{last_seen}", "summarized", {"text": ""})
                    await worker.store.write(job_id, lease.epoch, Writes(events=[fact]))
                while await anext(lines):
                    pass
                api.process.send_signal(signal.SIGTERM)
                remaining_lines = [line async for line in lines if line]
        code = await asyncio.to_thread(api.process.wait, 20)
        assert (code, remaining_lines) == (-signal.SIGTERM, [": the server stops: connect again"])


@pytest.mark.parametrize(
    ("trusted", "peer"),
    [
        ("127.0.0.1", "203.0.113.9"),
        ("10.9.9.9, 127.0.0.0/8", "203.0.113.9"),
        ("10.9.9.9", "127.0.0.1"),
        ("", "127.0.0.1"),
    ],
)
async def test_the_log_names_the_client_that_a_trusted_proxy_reports(
    redis_server, tmp_path, trusted, peer
):
    env = api_environment(redis_server.url, tmp_path, forwarded_allow_ips=trusted)
    env["FORWARDED_ALLOW_IPS"] = "*"  # a variable of uvicorn: only Fettle's own setting counts
    with running(env, tmp_path / "log") as api:
        async with api.client() as client:
            answer = await client.get("/jobs", headers={"X-Forwarded-For": "203.0.113.9"})
            assert answer.status_code == 200
        assert api.stop() == -signal.SIGTERM
        (line,) = [line for line in api.logged() if line["event"] == "request"]
    assert line["peer"] == peer


async def refusals_of(api, job_id):
    async def ask(method, path):
        async with api.client() as client:
            started_at = time.monotonic()
            body = {"task": "x", "action": "approve", "name": "n", "scopes": ["read"]}
            fields = {"/jobs": ("task",), "/keys": ("name", "scopes")}.get(path, ("action",))
            json = {name: body[name] for name in fields} if method == "POST" else None
            answer = await client.request(method, path.format(id=job_id), json=json)
            return path, answer, time.monotonic() - started_at

    return await asyncio.gather(*(ask(method, path) for method, path in EVERYTHING))


def test_a_data_directory_that_cannot_be_written_ends_the_start(tmp_path):
    process = run_until_refused(
        api_environment("redis://127.0.0.1:9/0", tmp_path, data_dir="/dev/null/data")
    )
    assert process.returncode == 2
    message = "FETTLE_DATA_DIR is /dev/null/data, which cannot be written (Not a directory)"
    assert message in process.stderr
    assert "Traceback" not in process.stderr


def test_a_data_directory_with_blobs_of_another_kind_ends_the_start(tmp_path):
    """As do blobs of another user, which a test under root could write."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "blobs").write_text("no directory")
    process = run_until_refused(api_environment("redis://127.0.0.1:9/0", tmp_path))
    assert process.returncode == 2
    assert f"FETTLE_DATA_DIR is {tmp_path}/data/blobs, which cannot be written" in process.stderr


async def test_servers_that_take_no_writes_are_named_by_probe_and_metrics(tmp_path):
    with (
        redis_servers.start(REDIS, tmp_path / "redis", tcp=True) as server,
        running(api_environment(server.url, tmp_path), tmp_path / "log") as api,
    ):
        async with api.client() as client:
            redis = connect(server.url)
            await redis.config_set("min-replicas-to-write", 1)
            ready = await client.get("/readyz")
            assert ready.status_code == 503
            message = "Redis takes no writes: too few replicas follow it"
            assert ready.json()["missing"] == [message]
            metrics = (await client.get("/metrics")).text
            for figure in ("redis_up 1", "redis_writable 0", "broker_up 0", "storage_up 1"):
                assert f"\nfettle_{figure}.0\n" in metrics
            await redis.config_set("min-replicas-to-write", 0)
            await redis.config_set("maxmemory", 1)  # decisions and ends are accepted even then
            assert (await client.get("/readyz")).status_code == 200
            await redis.aclose()


@pytest.mark.parametrize("failure", ["stopped", "killed"])
async def test_an_unavailable_redis_is_a_503_within_five_seconds(failure, tmp_path):
    with (
        redis_servers.start(REDIS, tmp_path / "redis", tcp=True) as server,
        running(api_environment(server.url, tmp_path), tmp_path / "log") as api,
    ):
        async with api.client() as client:
            job_id, tries = await submit(client), 0
            if failure == "stopped":
                os.kill(server.process.pid, signal.SIGSTOP)
            else:
                server.kill()
            refusals, alive, ready, metrics = await asyncio.gather(
                refusals_of(api, job_id),
                client.get("/healthz"),
                client.get("/readyz"),
                client.get("/metrics"),
            )
            for path, answer, _ in refusals:
                assert answer.status_code == 503, (path, answer.text)
                reads = answer.request.method == "GET"
                kind = "store-unavailable" if reads else "outcome-unknown"
                assert answer.json()["type"] == f"/problems/{kind}"
                assert answer.json()["retryable"] is True
                assert int(answer.headers["retry-after"]) > 0
                assert str(urlsplit(server.url).port) not in answer.text
            assert alive.status_code == 200
            assert ready.json()["missing"] == ["Redis does not answer"]
            assert "fettle_redis_up 0.0" in metrics.text
            while late := [path for path, _, seconds in refusals if seconds >= 5]:
                # The machine may be busy, but not several times in succession.
                assert (tries := tries + 1) < 4, late
                refusals = await refusals_of(api, job_id)
            if failure == "stopped":
                os.kill(server.process.pid, signal.SIGCONT)
                assert (await client.get(f"/jobs/{job_id}")).status_code == 200


@pytest.mark.invariant("J1")
async def test_no_accepted_job_is_lost_when_redis_is_killed(tmp_path):
    with redis_servers.start(REDIS, tmp_path / "redis", tcp=True) as server:
        accepted = []
        with running(api_environment(server.url, tmp_path), tmp_path / "log") as api:

            async def submit_until_refused():
                async with api.client() as client:
                    while True:
                        answer = await client.post("/jobs", json={"task": "x"})
                        if answer.status_code != 202:
                            return answer.status_code
                        accepted.append(answer.json()["id"])

            submitting = [asyncio.create_task(submit_until_refused()) for _ in range(8)]
            async with asyncio.timeout(20):
                while len(accepted) < 20:
                    await asyncio.sleep(0.01)
            server.kill()
            assert set(await asyncio.gather(*submitting)) == {503}
    with redis_servers.start(REDIS, tmp_path / "redis", tcp=True) as server:
        store = RedisStore(connect(server.url, seconds=20))
        stored = [await store.load(job_id) for job_id in accepted]
        await store.close()
    assert all(stored)


def production(server, folder, **changed):
    return production_env(server.url, folder, **changed)


def production_env(url, folder, **changed):
    return api_environment(url, folder, env="production", **changed)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"api_key": DEVELOPMENT_KEY}, "development key"),
        ({}, "there is no key"),
        ({"api_key": "short"}, "at least 24"),
    ],
)
def test_production_refuses_an_invalid_key(redis_server, tmp_path, changed, says):
    process = run_until_refused(production(redis_server, tmp_path, **changed))
    assert process.returncode == 2
    assert says in process.stderr
    assert "Traceback" not in process.stderr


async def test_the_api_reports_a_missing_redis_at_once_and_waits_for_it(tmp_path):
    (port,) = ports.free(1)
    env = production_env(f"redis://127.0.0.1:{port}/0", tmp_path, api_key="k" * 32)
    log = tmp_path / "log"
    with log.open("wb") as out:
        api = ApiProcess(start_process("api", env, out), log)
    try:
        async with asyncio.timeout(10):  # the API waits for 20 s
            while f"127.0.0.1:{port}" not in log.read_text():
                await asyncio.sleep(0.02)
        assert '"redis unreachable"' in log.read_text()
        assert "waits for 20 s" in log.read_text()
        with redis_servers.start(REDIS, tmp_path / "redis", port=port):
            api.wait_until_listening()
    finally:
        api.process.kill()
        api.process.wait()


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("--appendonly", "no"), "appendonly yes"),
        (("--maxmemory-policy", "allkeys-lru"), "maxmemory-policy noeviction"),
    ],
)
def test_production_refuses_a_redis_that_loses_jobs_until_it_is_repaired(tmp_path, args, says):
    with redis_servers.start(REDIS, tmp_path / "redis", *args, tcp=True) as server:
        process = run_until_refused(production(server, tmp_path, api_key="k" * 32))
        assert process.returncode == 1, "with 2, units would not start it again"
        assert says in process.stderr


async def test_production_needs_only_a_key_on_record(tmp_path):
    with redis_servers.start(REDIS, tmp_path / "redis", tcp=True) as server:
        with running(production(server, tmp_path, api_key="k" * 32), tmp_path / "log") as api:
            async with api.client("k" * 32) as client:
                created = await client.post("/keys", json={"name": "root", "scopes": ["admin"]})
            assert api.stop() == -signal.SIGTERM
        with running(production(server, tmp_path), tmp_path / "log") as api:
            async with api.client() as client:
                secret = {"X-API-Key": created.json()["secret"]}
                assert (await client.get("/keys", headers=secret)).status_code == 200
                assert (await client.get("/keys")).status_code == 401, "no development key here"


def test_invalid_settings_are_reported_plainly(tmp_path):
    process = run_until_refused(
        api_environment("redis://127.0.0.1:1/0", tmp_path, rate_limit="fast", port="99999")
    )
    assert process.returncode == 2
    assert "FETTLE_RATE_LIMIT (environment): " in process.stderr
    assert "FETTLE_PORT (environment): " in process.stderr
    assert "Traceback" not in process.stderr


async def test_a_misspelt_setting_is_reported_and_refused_in_production(redis_server, tmp_path):
    message = "FETTLE_RATELIMIT (environment) is not a setting: did you mean FETTLE_RATE_LIMIT?"
    with running(
        api_environment(redis_server.url, tmp_path, ratelimit="9"), tmp_path / "log"
    ) as api:
        assert api.stop() == -signal.SIGTERM
    assert message in (tmp_path / "log").read_text()
    process = run_until_refused(production(redis_server, tmp_path, api_key="k" * 32, ratelimit="9"))
    assert process.returncode == 2
    assert message in process.stderr


def test_a_used_port_is_reported(redis_server, tmp_path):
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        process = run_until_refused(
            api_environment(redis_server.url, tmp_path, port=str(listener.getsockname()[1]))
        )
    assert process.returncode != 0
    assert "address already in use" in process.stderr


async def test_a_body_that_arrives_slowly_is_cut_off(redis_server, tmp_path):
    env = api_environment(redis_server.url, tmp_path, body_seconds="0.3")
    with running(env, tmp_path / "log") as api:
        address = urlsplit(api.url)
        reader, writer = await asyncio.open_connection(address.hostname, address.port)
        writer.write(
            b"POST /jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"X-API-Key: " + DEVELOPMENT_KEY.encode() + b"\r\nContent-Length: 1000\r\n\r\n{"
        )
        answer = await asyncio.wait_for(reader.read(), 20)
        assert answer.startswith(b"HTTP/1.1 408")
        assert b"/problems/body-too-slow" in answer
        writer.close()


async def test_a_head_request_gets_a_head_and_the_connection_stays_open(api, client):
    job_id = await submit(client)
    key = client.headers["x-api-key"]
    address = urlsplit(api.url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    for path in (f"/jobs/{job_id}", f"/jobs/{job_id}/events", "/openapi.json", "/healthz"):
        request = f"HEAD {path} HTTP/1.1\r\nHost: {address.netloc}\r\nX-API-Key: {key}\r\n\r\n"
        writer.write(request.encode())
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 20)
        assert head.startswith(b"HTTP/1.1 200 "), (path, head)
        assert b"content-length: 0" not in head.lower(), (path, head)
    writer.close()


async def test_other_requests_are_answered_while_the_description_is_made(redis_server, tmp_path):
    with running(api_environment(redis_server.url, tmp_path), tmp_path / "log") as api:
        async with api.client() as client:
            description = asyncio.create_task(client.get("/openapi.json", timeout=60))
            answered = 0
            while not description.done():
                assert (await client.get("/healthz", timeout=60)).status_code == 200
                answered += 1
            assert "/jobs" in (await description).json()["paths"]
            assert answered > 10  # about 3 if the event loop makes the description

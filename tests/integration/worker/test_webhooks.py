"""Webhooks from a real Redis to a real HTTP server: signed, and sent once, even after crashes."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest
from support.jobs.job_examples import RESULT, JobService, job, lease_of

from jobs.service import Operations
from jobs.store.redis_store import RedisStore, connect
from jobs.transitions.lifecycle import Policy
from worker.background.periodic import send_some
from worker.egress.transport import Transport
from worker.egress.webhooks import MAX_RESPONSE_BYTES, Endpoint, headers, parse_key

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
SENDER = Path(__file__).parents[2] / "support/processes/webhook_sender.py"


@dataclass
class Receiver:
    """An HTTP server that records `messages`. `answers` are the next statuses, then 204."""

    messages: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)
    kills: int | None = None
    slow: float = 0.0
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    def take(self, request: BaseHTTPRequestHandler) -> int:
        body = request.rfile.read(int(request.headers["Content-Length"]))
        self.messages.append(({k.lower(): v for k, v in request.headers.items()}, body))
        if self.kills is not None:
            os.kill(self.kills, signal.SIGKILL)
            self.kills = None
        time.sleep(self.slow)
        return self.answers.pop(0) if self.answers else 204


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    kept_receiver = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            status = kept_receiver.take(self)
            with contextlib.suppress(OSError):
                self.send_response(status)
                self.send_header("Location", kept_receiver.url)
                self.send_header("Content-Length", "0")
                self.end_headers()

        def log_message(self, *_: object) -> None:
            """Writes no log."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    kept_receiver.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield kept_receiver
    server.shutdown()
    server.server_close()


@pytest.fixture
async def service(redis_url):
    store = RedisStore(connect(redis_url, seconds=20))
    made_service = JobService(store)
    made_service.operations = Operations(store, lambda *_: None, Policy(), webhooks=True)
    yield made_service
    await store.close()


def endpoint(
    receiver: Receiver, *, url: str = "", seconds: float = 20.0, private: bool = True
) -> Endpoint:
    transport = Transport(seconds, MAX_RESPONSE_BYTES, private=private)
    return Endpoint(httpx.URL(url or receiver.url), (parse_key(SECRET),), transport)


async def finished_job(service) -> str:
    record = await service.running()
    job(await service.operations.succeed(lease_of(record), RESULT, "did it"))
    return record.id


async def test_a_message_arrives_with_its_signature_and_is_removed(service, receiver):
    job_id = await finished_job(service)
    assert await send_some(service.store, endpoint(receiver)) == 1
    ((sent, body),) = receiver.messages
    made_service = headers(
        [parse_key(SECRET)], sent["webhook-id"], int(sent["webhook-timestamp"]), body
    )
    assert sent["webhook-signature"] == made_service["webhook-signature"]
    assert abs(int(sent["webhook-timestamp"]) - time.time()) < 60
    data = json.loads(body)
    assert (data["type"], data["data"]["job_id"]) == ("job.finished", job_id)
    assert await service.store.outbox.waiting(9) == ([], 0)
    assert await send_some(service.store, endpoint(receiver)) == 0


async def test_a_refused_message_is_sent_again_with_the_same_id(service, receiver):
    await finished_job(service)
    receiver.answers = [500, 302]
    for tries in (1, 2):
        await send_some(service.store, endpoint(receiver))
        (waits,), _ = await service.store.outbox.waiting(9)
        assert (waits.tries, waits.error) == (
            tries,
            f"the receiver answered {(500, 302)[tries - 1]}",
        )
        await service.store.redis.zadd("fettle:deliveries", {waits.id: 0})  # its delay is over
    await send_some(service.store, endpoint(receiver))
    assert len({sent["webhook-id"] for sent, _ in receiver.messages}) == 1
    assert len(receiver.messages) == 3, "a redirect is not followed"
    assert await service.store.outbox.waiting(9) == ([], 0)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "10.0.0.1", "169.254.169.254"])
async def test_private_addresses_are_refused_unless_allowed(service, receiver, host):
    await finished_job(service)
    url = f"http://{host}:{receiver.port}/hook"
    await send_some(service.store, endpoint(receiver, private=False, url=url))
    (waits,), _ = await service.store.outbox.waiting(9)
    assert "is not public" in waits.error
    assert receiver.messages == []


async def test_a_hanging_receiver_is_abandoned(service, receiver):
    await finished_job(service)
    receiver.slow = 30.0
    started = time.monotonic()
    await send_some(service.store, endpoint(receiver, seconds=0.2))
    assert time.monotonic() - started < 20
    (waits,), _ = await service.store.outbox.waiting(9)
    assert waits.error == "the receiver took longer than 0.2 s"


async def test_a_kill_of_the_sender_before_it_records_the_arrival(service, receiver, redis_url):
    """At least once: the message is sent again with its id when the lease of the dead sender has
    expired.
    """
    job_id = await finished_job(service)
    args = [sys.executable, str(SENDER), redis_url, receiver.url, SECRET]
    process = await asyncio.create_subprocess_exec(*args, stdin=asyncio.subprocess.PIPE)
    receiver.kills = process.pid
    await process.communicate(b"")  # now it may send
    assert process.returncode == -signal.SIGKILL
    (waits,), _ = await service.store.outbox.waiting(9)
    assert waits.tries == 1
    assert await send_some(service.store, endpoint(receiver)) == 0, "the lease runs"
    # Until the lease has expired.
    await service.store.redis.zadd("fettle:deliveries", {waits.id: 0})
    assert await send_some(service.store, endpoint(receiver)) == 1
    assert [json.loads(body)["data"]["job_id"] for _, body in receiver.messages] == [job_id] * 2
    assert len({sent["webhook-id"] for sent, _ in receiver.messages}) == 1
    assert await service.store.outbox.waiting(9) == ([], 0)

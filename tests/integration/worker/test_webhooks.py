"""Webhooks from a real Redis to a real HTTP server: signed, and sent once, even after crashes."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import signal
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from support.jobs.job_examples import RESULT, TENANT, JobService, decision, job, lease_of, review
from support.processes.due_messages import send_some

from jobs.audit.entries import Actor
from jobs.model.review import Action
from jobs.model.spec import JobSpec
from jobs.service import Operations
from jobs.store.credentials import Credentials
from jobs.store.outbox import enqueue
from jobs.store.redis_store import RedisStore, connect
from jobs.store.webhooks import Webhook
from jobs.transitions.change import Delivery
from jobs.transitions.lifecycle import Policy
from settings.webhooks import WebhookSettings
from worker.background.courier import LOOK_SECONDS, SLOTS, send_forever
from worker.egress.transport import Transport
from worker.egress.webhooks import (
    MAX_RESPONSE_BYTES,
    Sender,
    headers,
    parse_key,
    sender,
)

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
SENDER = Path(__file__).parents[2] / "support/processes/webhook_sender.py"


@dataclass
class Receiver:
    """An HTTP server that records `messages`. `answers` are the next statuses, then 204."""

    messages: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)
    kills: int | None = None
    slow: float = 0.0
    quick: bytes | None = None
    """A part of the messages that are answered at once."""
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
        if self.quick is None or self.quick not in body:
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
    receiver: Receiver,
    *,
    url: str = "",
    seconds: float = 20.0,
    private: bool = True,
    public_url: str | None = None,
    **options: Any,
) -> Sender:
    transport = Transport(seconds, MAX_RESPONSE_BYTES, private=private)
    webhook = Webhook(url or receiver.url, secrets=[SECRET], by_operator=True, **options)
    return Sender(webhook, transport, public_url)


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


async def test_a_tenant_with_slow_receivers_does_not_delay_others(service, receiver):
    for _ in range(50):
        await finished_job(service)
    receiver.slow, receiver.quick = 15.0, b'"tenant":"quiet"'
    sending = asyncio.create_task(send_forever(service.store, endpoint(receiver), 0.1))
    async with asyncio.timeout(10):
        while not receiver.messages:
            await asyncio.sleep(0.02)
        for _ in range(40):  # more than the free slots: each is freed at once
            submitted = await service.operations.submit("quiet", JobSpec("add"), by="bob")
            job(await service.operations.cancel(submitted.record.id, "bob"))
        while sum(receiver.quick in body for _, body in receiver.messages) < 40:
            await asyncio.sleep(0.02)
    sending.cancel()
    assert 0 < sum(receiver.quick not in body for _, body in receiver.messages) < SLOTS


async def test_slots_that_become_free_together_are_filled_by_one_look(
    service, receiver, monkeypatch
):
    """A look for due messages blocks Redis, so there must not be one for each message."""
    for _ in range(120):
        await finished_job(service)
    looks, lease = [], service.store.outbox.lease

    async def counted_lease(*args):
        looks.append(args)
        return await lease(*args)

    monkeypatch.setattr(service.store.outbox, "lease", counted_lease)
    started = time.monotonic()
    sending = asyncio.create_task(send_forever(service.store, endpoint(receiver), 0.1))
    async with asyncio.timeout(30):
        while len(receiver.messages) < 120:
            await asyncio.sleep(0.02)
    sending.cancel()
    assert len(looks) <= 1 + (time.monotonic() - started) / LOOK_SECONDS


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


async def test_the_messages_of_a_change_arrive_in_their_order(service, receiver):
    """The first one waits for the next one of the outbox, also if the receiver is slow."""
    for _ in range(4):
        job_id = await opened_review(service, task="add 1 and 1")
        job(await service.operations.decide(job_id, decision(action=Action.REJECT)))
    receiver.slow = 0.05
    bodies = await receive(service, receiver)
    types_by_job = defaultdict(list)
    for body in bodies:
        types_by_job[body["data"]["job_id"]].append(body["type"])
    assert len(types_by_job) == 4
    for types in types_by_job.values():
        types.remove("review.opened")
        assert types == ["review.decided", "job.finished"]


async def test_a_tenants_webhook_has_its_own_secret_and_reaches_no_intranet(service, receiver):
    writer = Credentials(service.store.redis)
    trusted = Webhook(receiver.url, secrets=["whsec_" + "A" * 32], id="w1", by_operator=True)
    foreign = Webhook(receiver.url, id="w2")
    for hook in (trusted, foreign):
        assert await writer.add_webhook(TENANT, hook, Actor("ann"))
    service.operations = Operations(service.store, lambda *_: None, Policy())
    await finished_job(service)
    await send_some(service.store, Sender(None, endpoint(receiver).transport))
    ((sent, body),) = receiver.messages
    expected = headers(
        [parse_key(trusted.secrets[0])],
        sent["webhook-id"],
        int(sent["webhook-timestamp"]),
        body,
    )
    assert sent["webhook-signature"] == expected["webhook-signature"]
    (waits,), _ = await service.store.outbox.waiting(9)
    assert (waits.webhook, "is not public" in waits.error) == ("w2", True)
    await writer.remove_webhook(TENANT, foreign, Actor("ann"))
    await service.store.redis.zadd("fettle:deliveries", {waits.id: 0})
    await send_some(service.store, Sender(None, endpoint(receiver).transport))
    assert await service.store.outbox.waiting(9) == ([], 0), "its messages are dropped"
    assert len(receiver.messages) == 1


async def test_a_worker_without_the_operators_address_loses_no_message(service, receiver):
    await finished_job(service)
    await send_some(service.store, Sender(None, endpoint(receiver).transport))
    (waits,), _ = await service.store.outbox.waiting(9)
    assert waits.error == "this worker has no FETTLE_WEBHOOK_URL"


PUBLIC_URL = "https://fettle.example.org"
HOSTILE = (
    "<!channel> <@U123|ann> <https://evil.example|Approved> *bold* :tada: & <at>Ann</at> "
    "[Approve](https://evil.example) **red** {{DATE(2020-01-01T00:00:00Z)}} \u202egnp.exe"
)
"""A task with mentions, links and markup of Slack and Teams, and a direction mark."""
CHAT_TITLES = {"A job waits for a decision", "A review was decided", "A job has ended"}


async def opened_review(service, *, task: str = HOSTILE, **fields: Any) -> str:
    record = await service.running(task=task, review=True, **fields)
    failed = review(unproven=f"the work was not verified: {task}")
    job(await service.operations.pause(lease_of(record), failed))
    return record.id


async def receive(service, receiver: Receiver, **options: Any) -> list[dict[str, Any]]:
    """Send all messages that are due; the bodies that arrived."""
    while await send_some(service.store, endpoint(receiver, **options)):
        pass
    assert await service.store.outbox.waiting(9) == ([], 0)
    return [json.loads(body) for _, body in receiver.messages]


@pytest.mark.parametrize("public_url", [PUBLIC_URL, None])
async def test_a_generic_message_links_to_the_job(service, receiver, public_url):
    job_id = await opened_review(service, task="add 1 and 1", labels=("bank",))
    (body,) = await receive(service, receiver, public_url=public_url)
    link = f"{PUBLIC_URL}/app/jobs/{job_id}" if public_url else None
    assert body["data"]["link"] == link
    assert (body["data"]["task"], body["data"]["submitted_by"]) == ("add 1 and 1", "ann")
    assert body["data"]["verdict"]["level"] == "grey"


async def test_slack_gets_untrusted_text_without_markup(service, receiver):
    job_id = await opened_review(service)
    rejection = decision(action=Action.REJECT, feedback=HOSTILE)
    job(await service.operations.decide(job_id, rejection))
    bodies = await receive(service, receiver, format="slack", public_url=PUBLIC_URL)
    assert {body["text"] for body in bodies} == CHAT_TITLES
    for body in bodies:
        header, *facts, link = (block["text"] for block in body["blocks"])
        assert header == {"type": "plain_text", "text": body["text"], "emoji": False}
        assert {(fact["type"], fact["emoji"]) for fact in facts} == {("plain_text", False)}
        lines = [fact["text"] for fact in facts]
        assert not set("<>\u202e\n") & set("".join(lines))
        assert lines[0].startswith("Task: &lt;!channel&gt; &lt;@U123|ann&gt; ")
        assert " &amp; " in lines[0]
        assert all(re.match(r"[A-Z][a-z ]+: \S", line) for line in lines)
        url = f"<{PUBLIC_URL}/app/jobs/{job_id}|Open the job>"
        assert link == {"type": "mrkdwn", "text": url}
    (opened,) = [body for body in bodies if body["text"] == "A job waits for a decision"]
    assert "Verdict: grey: The work was not verified" in json.dumps(opened)


async def test_teams_gets_untrusted_text_without_markup(service, receiver):
    job_id = await opened_review(service)
    rejection = decision(action=Action.REJECT, feedback=HOSTILE)
    job(await service.operations.decide(job_id, rejection))
    bodies = await receive(service, receiver, format="teams", public_url=PUBLIC_URL)
    titles = []
    for body in bodies:
        (attachment,) = body["attachments"]
        assert body["type"] == "message"
        assert attachment["contentType"] == "application/vnd.microsoft.card.adaptive"
        card = attachment["content"]
        assert set(card) == {"$schema", "type", "version", "body", "actions"}, "no entities"
        url = f"{PUBLIC_URL}/app/jobs/{job_id}"
        assert card["actions"] == [{"type": "Action.OpenUrl", "title": "Open the job", "url": url}]
        title, *lines = card["body"]
        titles.append(title["text"])
        assert (lines[0]["inlines"][0]["text"], len(lines) > 3) == ("Task: ", True)
        for line in lines:
            assert line["type"] == "RichTextBlock"
            assert {run["type"] for run in line["inlines"]} == {"TextRun"}
            text = line["inlines"][1]["text"]
            assert "{{" not in text
            assert text.isprintable()
    assert set(titles) == CHAT_TITLES, "messages of the same moment have no fixed order"


async def test_long_texts_do_not_exceed_the_limits_of_a_chat(service, receiver):
    long_text = "&\U0001f642" * 1_000
    for format_name in ("slack", "teams"):
        job_id = await opened_review(service, task=long_text, labels=("&" * 60,) * 20)
        rejection = decision(action=Action.REJECT, feedback=long_text)
        job(await service.operations.decide(job_id, rejection))
        bodies = await receive(service, receiver, format=format_name)
    assert len(bodies) == 6
    assert all(len(raw) < 28_000 for _, raw in receiver.messages)
    texts = [block["text"]["text"] for body in bodies[:3] for block in body["blocks"]]
    assert max(map(len, texts)) <= 3_000


@pytest.mark.parametrize("format_name", ["slack", "teams"])
async def test_a_chat_message_without_an_address_of_the_pages_has_no_link(
    service, receiver, format_name
):
    await opened_review(service, task="add 1 and 1")
    (body,) = await receive(service, receiver, format=format_name)
    assert "Open the job" not in json.dumps(body)


@pytest.mark.parametrize("format_name", ["generic", "slack", "teams"])
async def test_a_message_of_an_older_version_still_arrives(service, receiver, format_name):
    data = {"job_id": "j1", "tenant": "t", "status": "succeeded", "event": "succeeded"}
    for command in enqueue([Delivery("msg_old", "job.finished", "t", "j1", 1, data)]):
        await service.store.redis.execute_command(*command)
    (body,) = await receive(service, receiver, format=format_name, public_url=PUBLIC_URL)
    assert f"{PUBLIC_URL}/app/jobs/j1" in json.dumps(body)
    assert "succeeded" in json.dumps(body)


async def test_a_filter_by_labels_leaves_out_other_jobs(service, receiver):
    bank_job = await opened_review(service, task="one", labels=("bank", "urgent"))
    await opened_review(service, task="two", labels=("shop",))
    await opened_review(service, task="three")
    head = Delivery("msg_head", "audit.head", "t", "", 1, {"tenant": "t", "seq": 1})
    for command in enqueue([head]):
        await service.store.redis.execute_command(*command)
    bodies = await receive(service, receiver, labels=["bank", "other"])
    assert {body["data"].get("job_id") for body in bodies} == {bank_job, None}
    assert len(bodies) == 2


async def test_the_settings_choose_format_labels_and_link(service, receiver):
    settings = WebhookSettings(
        webhook_url=receiver.url,
        webhook_format="slack",
        webhook_labels="bank, urgent",
        webhook_private=True,
        public_url=f"{PUBLIC_URL}/",
    )
    chat = sender(settings)
    job_id = await opened_review(service, task="one", labels=("urgent",))
    await opened_review(service, task="two")
    while await send_some(service.store, chat):
        pass
    ((sent, body),) = receiver.messages
    assert f"<{PUBLIC_URL}/app/jobs/{job_id}|Open the job>" in body.decode()
    assert "webhook-signature" not in sent, "Slack checks no signature, and there is no secret"

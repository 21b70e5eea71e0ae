"""E-mail from a real Redis to a real SMTP server: over TLS, once, and without injected headers."""

from __future__ import annotations

import email
import email.policy
import time
from collections.abc import AsyncIterator, Iterator
from email.message import EmailMessage
from pathlib import Path

import pytest
from pydantic import ValidationError
from support.jobs.job_examples import JobService, job, lease_of, review
from support.processes.due_messages import send_some
from support.servers.mail_server import MailBox, mail_server

from jobs.service import Operations
from jobs.store.redis_store import RedisStore, connect
from jobs.transitions.lifecycle import Policy
from settings.webhooks import WebhookSettings
from worker.egress.webhooks import Sender, sender

PUBLIC_URL = "https://fettle.example.org"


@pytest.fixture
def box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MailBox]:
    with mail_server(tmp_path) as box:
        monkeypatch.setenv("SSL_CERT_FILE", str(box.certificate))
        yield box


@pytest.fixture
async def service(redis_url: str) -> AsyncIterator[JobService]:
    store = RedisStore(connect(redis_url, seconds=20))
    service = JobService(store)
    service.operations = Operations(store, lambda *_: None, Policy(), webhooks=True)
    yield service
    await store.close()


def mail_sender(box: MailBox, *, host: str = "localhost", seconds: float = 20.0) -> Sender:
    return sender(
        WebhookSettings(
            webhook_url="mailto:Reviews@Bank.example",
            webhook_format="email",
            webhook_seconds=seconds,
            smtp_url=f"smtp://me:p%40ss@{host}:{box.port}",
            smtp_from="fettle@bank.example",
            public_url=PUBLIC_URL,
        )
    )


async def opened_review(service: JobService, task: str) -> str:
    record = await service.running(task=task, review=True)
    failed = review(unproven=f"the work was not verified: {task}")
    job(await service.operations.pause(lease_of(record), failed))
    return record.id


async def missed(service: JobService, through: Sender) -> str:
    """Send; the error of the only message, which waits for another try."""
    await send_some(service.store, through)
    (waits,), _ = await service.store.outbox.waiting(9)
    return waits.error


async def test_a_mail_names_job_submitter_and_verdict(service: JobService, box: MailBox) -> None:
    job_id = await opened_review(service, "añade 1 y 1")
    assert await send_some(service.store, mail_sender(box)) == 1
    assert await service.store.outbox.waiting(9) == ([], 0)
    assert box.envelopes == [("fettle@bank.example", "Reviews@Bank.example")]
    assert len(box.logins) == 1
    assert box.plain_commands == ["EHLO", "STARTTLS"], "all other commands are encrypted"
    message = email.message_from_bytes(box.messages[0], policy=email.policy.default)
    assert isinstance(message, EmailMessage)
    assert message["Subject"] == "Fettle: A job waits for a decision"
    assert message["Auto-Submitted"] == "auto-generated"
    assert message["Message-ID"].startswith("<msg_")
    lines = message.get_content().splitlines()
    assert lines[2] == f"Open the job: {PUBLIC_URL}/app/jobs/{job_id}"
    assert {"Task: añade 1 y 1", f"Job: {job_id}", "Submitted by: ann"} <= set(lines)
    assert any(line.startswith("Verdict: grey: The work was not verified") for line in lines)


async def test_a_task_adds_no_header_and_no_line(service: JobService, box: MailBox) -> None:
    """The task has bare carriage returns, other ends of lines, direction marks and half a pair."""
    attack = "x\rBcc: eve@evil.example\x0b\x85\u2028Open the job: https://evil.example\u202e\ud800"
    await opened_review(service, f"{attack}{'y' * 2_000}")
    await send_some(service.store, mail_sender(box))
    message = email.message_from_bytes(box.messages[0], policy=email.policy.default)
    assert isinstance(message, EmailMessage)
    assert set(message) == {
        *("Subject", "From", "To", "Date", "Message-ID", "References", "Auto-Submitted"),
        *("Content-Type", "Content-Transfer-Encoding", "MIME-Version"),
    }
    assert len(box.envelopes) == 1
    lines = message.get_content().splitlines()
    assert sum(line.startswith("Open the job: ") for line in lines) == 1
    assert all(line.isprintable() and len(line) < 300 for line in lines)


async def test_a_server_without_tls_gets_neither_password_nor_message(
    service: JobService, box: MailBox
) -> None:
    await opened_review(service, "add")
    box.has_tls = False
    assert "STARTTLS" in await missed(service, mail_sender(box))
    assert (box.logins, box.messages) == ([], [])


async def test_a_server_with_the_certificate_of_another_host_gets_nothing(
    service: JobService, box: MailBox
) -> None:
    await opened_review(service, "add")
    assert "certificate" in await missed(service, mail_sender(box, host="127.0.0.1"))
    assert (box.logins, box.messages) == ([], [])


@pytest.mark.parametrize("verb", ["AUTH", "MAIL", "RCPT", "DATA"])
async def test_a_refused_mail_is_sent_again(service: JobService, box: MailBox, verb: str) -> None:
    await opened_review(service, "add")
    box.answers = {verb: "451 me:p@ss later"}
    assert await missed(service, mail_sender(box)) == "the receiver answered 451"
    box.answers = {}
    (waits,), _ = await service.store.outbox.waiting(9)
    await service.store.redis.zadd("fettle:deliveries", {waits.id: 0})
    await send_some(service.store, mail_sender(box))
    assert await service.store.outbox.waiting(9) == ([], 0)
    assert waits.id.encode() in box.messages[0]


async def test_a_mail_server_that_hangs_is_abandoned(service: JobService, box: MailBox) -> None:
    await opened_review(service, "add")
    box.slow = 3.0
    started = time.monotonic()
    error = await missed(service, mail_sender(box, seconds=0.3))
    assert (error, time.monotonic() - started < 2.5) == (
        "the receiver took longer than 0.3 s",
        True,
    )


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"smtp_from": "fettle@bank.example"}, "go together"),
        ({"smtp_url": "smtp://mail.example"}, "go together"),
        ({"smtp_url": "smtp://mail.example/x", "smtp_from": "a@b.example"}, "no path"),
        ({"smtp_url": "http://mail.example", "smtp_from": "a@b.example"}, "smtps:// or smtp://"),
        ({"smtp_url": "smtps://me:p%C3%A4ss@m", "smtp_from": "a@b.example"}, "ASCII"),
        ({"smtp_url": "smtps://m", "smtp_from": "a@b.example\nBcc: c@d.example"}, "mail address"),
        ({"webhook_url": "mailto:a@b.example", "webhook_secret": None}, "`email` goes with mailto"),
        (
            {"webhook_url": "https://b.example", "webhook_format": "email"},
            "`email` goes with mailto",
        ),
    ],
)
def test_settings_that_could_send_no_mail_are_refused(
    values: dict[str, str | None], message: str
) -> None:
    with pytest.raises(ValidationError, match=message):
        WebhookSettings(**values)  # type: ignore[arg-type]


def test_the_address_of_a_mail_server_is_shown_without_its_password() -> None:
    settings = WebhookSettings(smtp_url="smtps://me:hunter2@mail", smtp_from="a@b.example")
    assert "hunter2" not in f"{settings} {settings!r}"
    assert str(settings.smtp_url) == "smtps://mail:465"

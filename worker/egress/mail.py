"""E-mail: a message as plain text, and one try to send it by SMTP over TLS.

The server is the operator's setting, so it may be in an intranet. See RFC 5322 (Message-ID, with
which mail programs drop repetitions) and RFC 3834 (Auto-Submitted, which prevents automatic
replies).
"""

from __future__ import annotations

import asyncio
import smtplib
import ssl
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import formatdate

import httpx

from jobs.transitions.change import Delivery
from settings.reading.addresses import SmtpAddress
from worker.egress.chat import OPEN, notice_of
from worker.egress.transport import TransportError


@dataclass(frozen=True, slots=True)
class MailServer:
    """A server that accepts messages from `sender`."""

    address: SmtpAddress
    sender: str
    seconds: float
    """How long one try may take."""
    threads: Executor = field(default_factory=lambda: ThreadPoolExecutor(4, "mail"))
    """Their own, so that a server that hangs delays nothing else."""

    async def send(self, delivery: Delivery, recipient: str, link: str | None) -> None:
        """Send a message. Raises TransportError if it may not have arrived."""
        message = mail(delivery, self.sender, recipient, link)
        try:
            async with asyncio.timeout(self.seconds):
                loop = asyncio.get_running_loop()
                await loop.run_in_executor(self.threads, self._send, message)
        except TimeoutError:
            reason = f"took longer than {self.seconds:g} s"
        except smtplib.SMTPResponseException as error:
            reason = f"answered {error.smtp_code}"
        except smtplib.SMTPRecipientsRefused as error:
            reason = f"answered {error.recipients[recipient][0]}"
        except (smtplib.SMTPException, OSError) as error:
            reason = f"failed: {error or type(error).__name__}"
        else:
            return
        raise TransportError(httpx.URL(str(self.address)), reason)

    def _send(self, message: EmailMessage) -> None:
        context, server = ssl.create_default_context(), self.address
        endpoint = (server.host, server.port)
        connection = (
            smtplib.SMTP_SSL(*endpoint, timeout=self.seconds, context=context)
            if server.tls
            else smtplib.SMTP(*endpoint, timeout=self.seconds)
        )
        with connection:
            if not server.tls:
                connection.starttls(context=context)  # fails if the server offers no TLS
            if server.username:
                connection.login(server.username, server.password)
            connection.send_message(message)


def mail(delivery: Delivery, sender: str, recipient: str, link: str | None) -> EmailMessage:
    """The message. Each fact has one line, so that a task cannot imitate the other lines."""
    notice = notice_of(delivery, link)
    message = EmailMessage(policy=SMTP)
    domain = sender.rpartition("@")[2]
    message["Subject"] = f"Fettle: {notice.title}"
    message["From"], message["To"] = sender, recipient
    message["Date"] = formatdate(delivery.at / 1000)
    message["Message-ID"] = f"<{delivery.id}@{domain}>"
    message["References"] = (
        f"<{delivery.job_id or delivery.type}@{domain}>"  # a thread for each job
    )
    message["Auto-Submitted"] = "auto-generated"
    lines = [f"{name}: {value}" for name, value in notice.facts]
    text = [notice.title, "", *([f"{OPEN}: {notice.link}", ""] if notice.link else []), *lines]
    message.set_content("\n".join(text) + "\n")
    return message

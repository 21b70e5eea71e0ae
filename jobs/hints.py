"""Hints: the Celery message that says "look at this job". Losing or doubling one must not matter.

The only place of this package that knows Celery.
"""

from __future__ import annotations

import queue
import threading
from typing import Any

from celery import Celery

from jobs.spec import Priority

NAME = "fettle.look"
QUEUE = "fettle"
MOST_WAITING = 10_000
"""Hints held back while the broker is away; the sweeper makes up for what is dropped."""

PRIORITIES = {Priority.HIGH: 0, Priority.NORMAL: 3, Priority.LOW: 6}
"""Redis under Celery takes 0 as the most urgent; one list a step."""


def celery_app(broker_url: str, **options: Any) -> Celery:
    """The Celery app both ends share: no results, no retries, JSON, one queue with priorities."""
    app = Celery("fettle", broker=broker_url, set_as_current=False)
    app.conf.update(
        task_default_queue=QUEUE,
        task_ignore_result=True,
        task_acks_late=False,
        task_serializer="json",
        accept_content=["json"],
        broker_connection_retry_on_startup=True,
        broker_transport_options={
            "priority_steps": sorted(PRIORITIES.values()),
            "socket_timeout": 5,
            "socket_connect_timeout": 2,
        },
        **options,
    )
    return app


class Hints:
    """Sends hints from a thread of its own, so that nobody waits for the broker."""

    def __init__(self, broker_url: str) -> None:
        self._app = celery_app(broker_url)
        self._waiting: queue.Queue[tuple[str, Priority] | None] = queue.Queue(MOST_WAITING)
        self._sender = threading.Thread(target=self._send_all, name="hints", daemon=True)
        self._sender.start()

    def send(self, job_id: str, priority: Priority) -> None:
        """Have a hint sent soon; drops it where too many wait."""
        try:
            self._waiting.put_nowait((job_id, priority))
        except queue.Full:
            return

    def close(self, seconds: float = 2.0) -> None:
        """Send what waits, for at most `seconds`."""
        self._waiting.put(None)
        self._sender.join(seconds)
        self._app.close()

    def _send_all(self) -> None:
        while (waiting := self._waiting.get()) is not None:
            job_id, priority = waiting
            try:
                self._app.send_task(
                    NAME,
                    args=[job_id],
                    priority=PRIORITIES[priority],
                    retry=False,
                    ignore_result=True,
                )
            except (self._app.connection().connection_errors, OSError):
                continue  # a lost hint does not matter: the sweeper sends another

"""Hints: the Celery message that says "look at this job". A hint may be lost or doubled without
harm.

Only this module of the package imports Celery.

See ADR 35.
"""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from celery import Celery
from kombu.entity import Exchange, Queue
from kombu.exceptions import KombuError
from redis.asyncio.connection import SSLConnection, parse_url
from redis.exceptions import RedisError

from jobs.model.credentials import OPERATOR
from jobs.model.record import JobRecord
from jobs.model.spec import Priority
from jobs.queue.ready import Ready

NAME = "fettle.look"
QUEUE = "fettle"
REDIS_PORT = 6379
MAX_UNSENT = 10_000
"""The hints that wait in this process while the broker is unreachable. The sweeper replaces dropped
hints."""
MAX_IN_BROKER = 10_000
"""The hints of one priority that wait in the broker. Above this number no hint is added: workers
have enough jobs to look at, and the sweeper's hints would only accumulate."""

PRIORITIES = {Priority.HIGH: 0, Priority.NORMAL: 3, Priority.LOW: 6}
"""Redis under Celery takes 0 as the most urgent; one list a step."""
_BY_STEP = {step: priority for priority, step in PRIORITIES.items()}
SEPARATOR = "\x06\x16"
BROKER_ERRORS = (KombuError, RedisError, OSError)
"""The errors of a broker that is unreachable, hangs or is full."""


def celery_app(broker_url: str, **options: Any) -> Celery:
    """The Celery app of both ends: no results, no retries, JSON, one queue with priorities.

    `broker_url` is a Redis URL as redis-py reads it: redis://, rediss:// or unix://. Celery gets
    the values that redis-py reads from the URL: Celery itself would obey other options, and would
    not verify TLS.

    See ADR 64.
    """
    server = parse_url(broker_url)
    app = Celery("fettle", broker=_kombu_url(server), set_as_current=False)
    app.conf.update(
        broker_use_ssl=_tls(server),
        # no_ack: a hint may be lost, so unacknowledged ones are not tracked (3 round trips each)
        task_queues=[Queue(QUEUE, Exchange(QUEUE, "direct"), QUEUE, no_ack=True)],
        task_default_queue=QUEUE,
        task_ignore_result=True,
        task_serializer="json",
        accept_content=["json"],
        broker_connection_retry_on_startup=True,
        broker_transport_options={
            "priority_steps": sorted(PRIORITIES.values()),
            "sep": SEPARATOR,
            "socket_timeout": 5,
            "socket_connect_timeout": 2,
        },
        **options,
    )
    return app


def hint_list(priority: Priority) -> str:
    """The Redis list in the broker in which hints of this priority wait."""
    step = PRIORITIES[priority]
    return f"{QUEUE}{SEPARATOR}{step}" if step else QUEUE


def _kombu_url(server: Mapping[str, Any]) -> str:
    username, password = (quote(server.get(name, ""), safe="") for name in ("username", "password"))
    user = f"{username}:{password}@" if username or password else ""
    database = server.get("db", 0)
    if "path" in server:
        return f"redis+socket://{user}{quote(server['path'])}?virtual_host={database}"
    host = server.get("host", "localhost")
    host = f"[{host}]" if ":" in host else host
    scheme = "redis" if _tls(server) is None else "rediss"
    return f"{scheme}://{user}{host}:{server.get('port', REDIS_PORT)}/{database}"


def _tls(server: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The TLS options; they verify the server unless the URL says otherwise. None: no TLS."""
    if server.get("connection_class") is not SSLConnection:
        return None
    options = {name: value for name, value in server.items() if name.startswith("ssl_")}
    return {"ssl_cert_reqs": "required", "ssl_check_hostname": True, **options}


class Hints:
    """Sends hints from a separate thread, so that no caller waits for the broker.

    The broker need not be reachable. A URL that names no kind of broker raises at once.
    """

    def __init__(self, broker_url: str) -> None:
        self._broker = _BrokerConnection(celery_app(broker_url))
        self._unsent: queue.Queue[tuple[str, Priority, str] | None] = queue.Queue(MAX_UNSENT)
        self._given_up = threading.Event()
        self._sender = threading.Thread(target=self._send_all, name="hints", daemon=True)
        self._sender.start()

    def hint(self, record: JobRecord) -> None:
        """Queue a hint at a job."""
        self.send(record.id, record.spec.priority, record.tenant)

    def send(self, job_id: str, priority: Priority, tenant: str = OPERATOR) -> None:
        """Queue a hint. It is dropped if too many hints wait."""
        try:
            self._unsent.put_nowait((job_id, priority, tenant))
        except queue.Full:
            return

    def close(self, seconds: float = 2.0) -> None:
        """Send the queued hints, for at most `seconds`. Later hints are dropped."""
        try:
            self._unsent.put_nowait(None)
        except queue.Full:
            self._given_up.set()
        self._sender.join(seconds)
        self._given_up.set()

    def _send_all(self) -> None:
        while (hint := self._unsent.get()) is not None and not self._given_up.is_set():
            try:
                self._broker.send(*hint)
            except BROKER_ERRORS:
                self._broker.hang_up()  # a lost hint does not matter: the sweeper sends another
        self._broker.hang_up()


class JobPicker:
    """Picks the job for a hint that a worker has received. For one thread."""

    def __init__(self, broker_url: str) -> None:
        self._app = celery_app(broker_url)
        self._connection: Any = None

    def pick(self, job_id: str, step: int | None) -> str:
        """The next job of the hint's priority, by the ready index. The hint's own job if no job is
        listed, or if the broker does not answer."""
        priority = _BY_STEP.get(step) if step is not None else None
        if priority is None:
            return job_id
        try:
            self._connection = self._connection or _connect(self._app)
            return Ready(self._connection.default_channel.client).next(priority) or job_id
        except BROKER_ERRORS:
            self._connection = None
            return job_id


def _connect(app: Celery) -> Any:
    """A connection to the broker that gives up within seconds. By default, kombu waits and tries
    again."""
    bound = {"connect_retries_timeout": 1, "interval_start": 0, "socket_timeout": 2}
    return app.connection_for_write(transport_options=bound)


class _BrokerConnection:
    """One open connection to the broker, made when it is needed. For one thread."""

    def __init__(self, app: Celery) -> None:
        self._app = app
        self._dial()

    def send(self, job_id: str, priority: Priority, tenant: str) -> None:
        """Send a hint, unless the broker has enough hints. Raises within seconds if the broker is
        unreachable."""
        Ready(self._producer.channel.client).add(job_id, priority, tenant)
        if self._producer.channel.client.llen(hint_list(priority)) >= MAX_IN_BROKER:
            return
        self._app.send_task(
            NAME,
            args=[job_id],
            priority=PRIORITIES[priority],
            producer=self._producer,
            retry=False,
            ignore_result=True,
        )

    def hang_up(self) -> None:
        """Drop the connection in any state. The next hint makes a new connection."""
        with contextlib.suppress(*BROKER_ERRORS):
            self._connection.close()
        self._dial()

    def _dial(self) -> None:
        self._connection = _connect(self._app)
        self._producer: Any = self._app.amqp.Producer(self._connection, auto_declare=False)

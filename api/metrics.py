"""Metrics for Prometheus: counts and times without any job's content, so they need no key."""

from __future__ import annotations

from collections.abc import Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from api.schemas.deployment import Undelivered
from jobs.model.record import Status
from jobs.model.spec import Priority
from jobs.queue.admission import SystemLoad

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0)


class Metrics:
    """The metrics of one application, in a registry of their own: a test process may hold several
    applications."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter(
            "fettle_http_requests_total",
            "HTTP requests by method, route and status",
            ("method", "route", "status"),
            registry=self.registry,
        )
        self._seconds = Histogram(
            "fettle_http_request_seconds",
            "Time until a response began, by method and route",
            ("method", "route"),
            buckets=SECONDS,
            registry=self.registry,
        )
        self.streams = Gauge("fettle_event_streams", "Open event streams", registry=self.registry)
        self._up = Gauge("fettle_redis_up", "Whether Redis answered", registry=self.registry)
        self._writable = Gauge(
            "fettle_redis_writable", "Whether Redis took a small write", registry=self.registry
        )
        self._broker = Gauge(
            "fettle_broker_up", "Whether the broker took a small write", registry=self.registry
        )
        self._storage = Gauge(
            "fettle_storage_up",
            "Whether the artifact store kept a few bytes that it was sent",
            registry=self.registry,
        )
        self._jobs = Gauge(
            "fettle_jobs", "Jobs on record by status", ("status",), registry=self.registry
        )
        self._queue = Gauge(
            "fettle_queue_jobs", "Waiting jobs by priority", ("priority",), registry=self.registry
        )
        self._longest = Gauge(
            "fettle_queue_longest_wait_seconds",
            "Queue time of the first waiting job that could run now, by priority; 0 without one",
            ("priority",),
            registry=self.registry,
        )
        self._used = Gauge(
            "fettle_redis_used_bytes", "Memory that Redis has in use", registry=self.registry
        )
        self._most = Gauge(
            "fettle_redis_max_bytes",
            "Memory that Redis may use: its maxmemory, else its machine's memory",
            registry=self.registry,
        )
        self._workers = Gauge("fettle_workers", "Workers seen lately", registry=self.registry)
        self._webhooks = Gauge(
            "fettle_webhooks",
            "Webhook messages that have not arrived: waiting, or dead (tried no more)",
            ("state",),
            registry=self.registry,
        )
        self._oldest_webhook = Gauge(
            "fettle_webhook_oldest_seconds",
            "Age of the oldest waiting webhook message",
            registry=self.registry,
        )

    def count_response(self, method: str, route: str, status: int, seconds: float) -> None:
        """A response began."""
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(method, route).observe(seconds)

    def set_state(
        self,
        jobs: Mapping[Status, int],
        queue: Mapping[Priority, int],
        memory: SystemLoad,
        workers: int,
        webhooks: Undelivered,
    ) -> None:
        """The state of the service in Redis."""
        self._up.set(1)
        self._used.set(memory.used_bytes)
        self._most.set(memory.max_bytes)
        self._workers.set(workers)
        self._webhooks.labels("waiting").set(webhooks.waiting)
        self._webhooks.labels("dead").set(webhooks.dead)
        self._oldest_webhook.set(webhooks.oldest_seconds)
        for status in Status:
            self._jobs.labels(str(status)).set(jobs.get(status, 0))
        for priority in Priority:
            self._queue.labels(str(priority)).set(queue.get(priority, 0))

    def set_faults(self, redis_fault: str, broker_fault: str, storage_fault: str) -> None:
        """The faults of the dependencies when this process used them; empty: they work."""
        self._writable.set(not redis_fault)
        self._broker.set(not broker_fault)
        self._storage.set(not storage_fault)

    def set_waits(self, longest: Mapping[Priority, float]) -> None:
        """Queue times in seconds; empty if the broker did not answer."""
        self._longest.clear()
        for priority, seconds in longest.items():
            self._longest.labels(str(priority)).set(seconds)

    def set_unreachable(self) -> None:
        """Redis did not answer: drop the earlier values."""
        self._up.set(0)
        self._used.set(0)
        self._workers.set(0)
        self._jobs.clear()
        self._queue.clear()
        self._longest.clear()
        self._webhooks.clear()
        self._oldest_webhook.set(0)

    def text(self) -> bytes:
        """Everything in Prometheus' text format."""
        return generate_latest(self.registry)

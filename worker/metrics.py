"""Figures: every metric of a worker. Counters begin at zero with the process."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
)

from agents.errors import (
    ContextExceeded,
    ErrorKind,
    ModelError,
    ModelUnavailable,
    ReplyCut,
    ReplyUnusable,
)
from jobs.model.record import Cause, Reason, Status
from jobs.store import Charge
from jobs.transitions.change import Change
from sandbox.protocol import RunResult

MOMENTS = (0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
CALLS = (0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 40.0, 60.0, 120.0)
WAITS = (0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3_600.0)
_UNAPPROVED = {Status.FAILED: "failed", Status.SUCCEEDED: "accepted"}


class WorkerFigures:
    """The metrics of one process, in their own registry. All methods are safe from any thread."""

    def __init__(self, slots: int) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self._gauge("fettle_worker_slots", "Jobs that this worker holds at once, at most").set(
            slots
        )
        self.loop_lag = self._histogram(
            "fettle_worker_loop_lag_seconds",
            "Delay of the event loop behind its timers",
            MOMENTS,
        )
        self._facts = self._counter(
            "fettle_job_events_total",
            "Events of jobs' lives that this worker put on record, by kind",
            "kind",
        )
        self._given_back = self._counter(
            "fettle_attempts_given_back_total",
            "Attempts after which this worker returned the job to the queue, by cause",
            "cause",
        )
        self._failures = self._counter(
            "fettle_job_failures_total", "Jobs that this worker ended as failed", "reason"
        )
        self._unapproved = self._counter(
            "fettle_job_unapproved_total",
            "Jobs that this worker ended without an approval: failed, or accepted",
            "end",
        )
        self._overrides = self._counter(
            "fettle_job_overrides_total",
            "Jobs that this worker ended with an approval that overrode the evidence",
        )
        self._started = self._histogram(
            "fettle_job_start_seconds", "From a job's submission to its first attempt", WAITS
        )
        self._requests = self._counter(
            "fettle_model_requests_total", "Requests to providers", "provider", "outcome"
        )
        self._latency = self._histogram(
            "fettle_model_request_seconds", "Time of a request to a provider", CALLS, "provider"
        )
        self._tokens = self._counter(
            "fettle_model_tokens_total", "Tokens on record", "provider", "kind"
        )
        self._cost = self._counter(
            "fettle_model_cost_usd_total", "Dollars on record, of priced models", "provider"
        )
        self._runs = self._counter("fettle_runs_total", "Runs of code", "end")
        self._run_seconds = self._histogram("fettle_run_seconds", "Time of a run's program", CALLS)
        self._overhead = self._histogram(
            "fettle_sandbox_overhead_seconds",
            "Time of a run beyond its program's: for a sandbox, and for files",
            MOMENTS,
        )
        self.runs_now = self._gauge("fettle_runs_in_progress", "Runs of code under way")
        for reason in Reason:
            self._failures.labels(str(reason))  # start at 0: a rate needs an earlier value
        for cause in Cause:
            self._given_back.labels(str(cause))
        for end in _UNAPPROVED.values():
            self._unapproved.labels(end)

    def watch(self, name: str, about: str, value: Callable[[], float]) -> None:
        """A gauge that is read at each scrape; `value` is called from another thread."""
        self._gauge(name, about).set_function(value)

    def changed(self, change: Change) -> None:
        """A change of a job was put on record."""
        after = change.after
        for event in change.events:
            self._facts.labels(event.kind).inc()
            if event.kind == "given_back":
                self._given_back.labels(str(event.data["cause"])).inc()
        if after.status is Status.FAILED:
            self._failures.labels(str(after.reason)).inc()
        if after.unapproved:
            self._unapproved.labels(_UNAPPROVED[after.status]).inc()
        if after.status is Status.SUCCEEDED and after.override:
            self._overrides.inc()
        is_first_start = after.status is Status.RUNNING and after.attempts == 1
        if is_first_start and after.claimed_at is not None:
            self._started.observe(max(after.claimed_at - after.created_at, 0) / 1000)

    def paid(self, charges: Iterable[Charge]) -> None:
        """Model calls were put on record."""
        for charge in charges:
            provider = charge.model.partition(":")[0]
            fresh = charge.input_tokens - charge.cached_input_tokens
            self._tokens.labels(provider, "input").inc(max(fresh, 0))
            self._tokens.labels(provider, "cached_input").inc(charge.cached_input_tokens)
            self._tokens.labels(provider, "output").inc(charge.output_tokens)
            if charge.cost_usd is not None:
                self._cost.labels(provider).inc(float(charge.cost_usd))

    def record(self, provider: str, seconds: float, error: ModelError | None) -> None:
        """See agents.ports.spending.Meter."""
        self._requests.labels(provider, outcome(error)).inc()
        self._latency.labels(provider).observe(seconds)

    def ran(self, result: RunResult, seconds: float) -> None:
        """A run of code. `seconds` is its full duration."""
        self._runs.labels("succeeded" if result.succeeded else str(result.end)).inc()
        self._run_seconds.observe(result.seconds)
        self._overhead.observe(max(seconds - result.seconds, 0.0))

    def unrun(self) -> None:
        """A run that the sandbox could not start."""
        self._runs.labels("unavailable").inc()

    def _counter(self, name: str, about: str, *labels: str) -> Counter:
        return Counter(name, about, labels, registry=self.registry)

    def _gauge(self, name: str, about: str) -> Gauge:
        return Gauge(name, about, registry=self.registry)

    def _histogram(
        self, name: str, about: str, buckets: tuple[float, ...], *labels: str
    ) -> Histogram:
        return Histogram(name, about, labels, buckets=buckets, registry=self.registry)


def outcome(error: ModelError | None) -> str:
    """The outcome of a request, in one word."""
    match error:
        case None:
            return "answered"
        case ContextExceeded():
            return "too_long"
        case ReplyUnusable():
            return "malformed"
        case ReplyCut():
            return "cut"
        case ModelUnavailable(kind=ErrorKind.RATE | ErrorKind.QUOTA):
            return "rate_limited"
        case ModelUnavailable():
            return "unavailable"
        case _:
            return "refused"

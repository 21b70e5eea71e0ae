"""Whether a worker is alive and ready, and the sources of its metrics."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from prometheus_client import CollectorRegistry
from support.jobs.job_examples import NOW, RESULT, claimed, queued

from api.metrics import Metrics
from jobs.transitions import lifecycle
from jobs.transitions.change import Change
from sandbox.protocol import PoolCount
from settings.sandbox import REPOSITORY
from worker.adapters.sandbox import watch_pool
from worker.health import WorkerHealth
from worker.metrics import WorkerFigures

STUCK = 30.0
SEEN = 20.0
GAUGES = (
    "fettle_worker_busy_slots",
    "fettle_worker_heartbeat_age_seconds",
    "fettle_worker_sandbox_up",
    "fettle_worker_storage_up",
)
"""The metrics that the engine and the health of a worker add."""


class Clock:
    """A clock that the test sets."""

    now = 1_000.0

    def __call__(self) -> float:
        return self.now


class Worker:
    """A healthy worker, until a test changes it."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.draining = False
        self.facts: Mapping[str, Any] = {"works": True, "why": ""}
        self.health = WorkerHealth(
            stuck_seconds=STUCK,
            seen_seconds=SEEN,
            draining=lambda: self.draining,
            clock=self.clock,
        )

    def run_loop_once(self) -> Worker:
        self.health.sandbox = lambda: self.facts
        self.health.record_heartbeat()
        return self


def test_a_healthy_worker_is_ready() -> None:
    health = Worker().run_loop_once().health
    assert (health.not_alive(), health.not_ready()) == ("", "")


def test_a_worker_before_its_start_is_alive_but_not_ready() -> None:
    worker = Worker()
    assert worker.health.not_alive() == ""
    assert worker.health.not_ready() == "the worker is starting"
    worker.health.sandbox = lambda: worker.facts
    assert worker.health.not_ready() == "the worker is starting", "no heartbeat yet"
    assert worker.health.beat_age == float("inf")


def test_a_loop_that_hangs_is_not_alive_although_leases_are_renewed() -> None:
    worker = Worker().run_loop_once()
    worker.clock.now += STUCK + 1
    worker.health.record_heartbeat()
    assert worker.health.not_alive() == "the event loop has not answered for 31 s"
    assert worker.health.not_ready() == worker.health.not_alive()
    worker.health.record_loop()
    assert worker.health.not_ready() == ""


def test_an_outage_of_redis_is_no_reason_for_a_restart() -> None:
    worker = Worker().run_loop_once()
    worker.clock.now += SEEN + 1
    worker.health.record_loop()
    assert worker.health.not_alive() == ""
    assert worker.health.not_ready() == "Redis has not answered a heartbeat for 21 s"


def test_a_worker_that_drains_or_has_no_sandbox_is_not_ready() -> None:
    worker = Worker().run_loop_once()
    worker.facts = {"works": False, "why": "make install"}
    assert worker.health.not_ready() == "the sandbox cannot work: make install"
    assert not worker.health.sandbox_works()
    worker.draining = True
    assert worker.health.not_ready() == "the worker is stopping"
    assert worker.health.not_alive() == ""


def test_an_approval_against_the_evidence_is_counted_at_the_end() -> None:
    figures = WorkerFigures(slots=1)
    for result in (RESULT, replace(RESULT, approved_by="ann", override=True)):
        change = lifecycle.succeed(claimed(queued()), NOW, result=result)
        assert isinstance(change, Change)
        figures.changed(change)
    assert figures.registry.get_sample_value("fettle_job_overrides_total") == 1


def test_the_page_for_operators_names_exactly_the_existing_metrics() -> None:
    worker = Worker().run_loop_once()
    figures = WorkerFigures(slots=1)
    for name in GAUGES:
        figures.watch(name, "looked at when asked", lambda: worker.health.beat_age)
    watch_pool(lambda: PoolCount(ready=0, making=0, target=2), figures)
    page = (REPOSITORY / "docs" / "operations.md").read_text()
    documented = {
        re.sub(r"_(count|sum|bucket)$", "", name) for name in re.findall(r"fettle_\w+", page)
    }
    own_samples = {
        sample for sample in sample_names(figures.registry) if sample.startswith("fettle_")
    }
    assert own_samples - documented == set()
    assert documented - own_samples - sample_names(Metrics().registry) == set()


def sample_names(registry: CollectorRegistry) -> set[str]:
    """The names of all metrics, as Prometheus reads them."""
    return {
        family.name + ("_total" if family.type == "counter" else "")
        for family in registry.collect()
    }

"""The Celery side of a worker: its one task takes a hint and hands the job's id to the engine."""

from __future__ import annotations

from celery import Celery

from jobs import hints
from worker.engine import Engine


def worker_app(broker_url: str, engine: Engine) -> Celery:
    """A Celery app whose worker feeds `engine`.

    The hint is acknowledged before the job is worked on: the record, not the queue, remembers the
    job. The task waits for a free slot, and Celery fetches no other meanwhile.
    """
    app = hints.celery_app(
        broker_url,
        worker_prefetch_multiplier=1,
        broker_connection_max_retries=None,
    )

    def look(job_id: str) -> None:
        engine.take(job_id)

    app.task(look, name=hints.NAME)
    return app

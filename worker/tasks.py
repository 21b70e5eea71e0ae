"""The Celery side of a worker: its one task takes a hint and hands the job's id to the engine."""

from __future__ import annotations

from celery import Celery, Task

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

    turns = hints.Turns(broker_url)

    def look(task: Task, job_id: str) -> None:
        step = (task.request.delivery_info or {}).get("priority")
        engine.take(turns.of(job_id, step))

    app.task(look, name=hints.NAME, bind=True)
    return app

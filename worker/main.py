"""One worker process. `--alone JOB` works on that job only, then ends.

Exit code 2: a setting is wrong; stderr names it.
"""

from __future__ import annotations

import gc
import os
import secrets
import signal
import socket
import sys
import time
from types import FrameType

import click
import langsmith
import structlog
from celery import Celery, Task
from celery.worker import state as celery_state
from celery.worker.control import Panel

from jobs.audit.signing import AuditKeyUnfit
from jobs.errors import JobsError
from jobs.model.record import is_job_id
from jobs.queue import hints
from settings.starting.start import BAD_SETTINGS, load_settings
from settings.worker import WorkerSettings
from worker.adapters.tools import ToolUnfit
from worker.engine import Engine
from worker.repositories.errors import RepositoriesUnfit

SAME_SECONDS = 1.0
"""Signals within this time count as one: a terminal and a process runner may both send it."""

AGAIN_SECONDS = 1.0

REMOTE_CONTROL = frozenset(
    {
        *("ping", "stats", "conf", "registered", "active_queues"),
        *("active", "reserved", "scheduled", "revoked", "query_task"),
        *("enable_events", "disable_events"),
    }
)
"""The commands of Celery's remote control that a worker obeys: Flower's pages need them."""

log = structlog.get_logger("worker")


@click.command()
@click.option("--alone", metavar="JOB", help="work on this job only, in a process of its own")
def main(alone: str | None) -> None:
    """Work on jobs until a signal."""
    settings = load_settings(WorkerSettings)
    if alone:
        sys.exit(_work_alone(settings, alone))
    engine, worker_id = _start_engine(settings)
    code = 0
    if not engine.draining:
        if engine.has_model:  # else the log has an error, and later a line when the model works
            log.info("worker ready", worker=worker_id, slots=settings.concurrency)
        code = _consume(settings, engine, worker_id)
    engine.stop()
    sys.exit(code)


def _work_alone(settings: WorkerSettings, job_id: str) -> int:
    """Work on one job that crashed twice; returns the exit code. See worker.isolation."""
    changed = {"concurrency": 1, "worker_metrics_port": None}  # the port is its worker's
    engine, _ = _start_engine(settings.model_copy(update=changed))
    if not engine.draining:
        engine.work_alone(job_id)
    engine.stop()
    return 0


def _start_engine(settings: WorkerSettings) -> tuple[Engine, str]:
    """Start an engine; returns it with the worker's id.

    Exits with BAD_SETTINGS if a setting cannot be used, and with 1 if Redis cannot: another start
    may succeed.
    """
    langsmith.configure(enabled=False)  # even if a package of tools sets its variables (ADR 62)
    worker_id = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(3)}"
    engine = Engine(settings, worker_id)
    _drain_on_signals(engine)
    try:
        engine.start()
    except (ToolUnfit, RepositoriesUnfit, AuditKeyUnfit) as error:
        log.error("worker cannot start", why=str(error))
        sys.exit(BAD_SETTINGS)
    except (JobsError, OSError) as error:
        log.error("worker cannot start", why=str(error))
        sys.exit(1)
    # Loaded modules stay. Without this, each full garbage collection scans them, and all jobs of
    # the process wait a quarter of a second.
    gc.collect()
    gc.freeze()
    return engine, worker_id


def _drain_on_signals(engine: Engine) -> None:
    """The first signal drains the worker; a later signal ends the process at once."""
    first: float | None = None

    def stop(signum: int, _: FrameType | None) -> None:
        nonlocal first
        now = time.monotonic()
        if first is not None and now - first > SAME_SECONDS:
            os._exit(128 + signum)  # sandboxes end with our socket; the leases of the jobs expire
        first = now if first is None else first
        celery_state.should_stop = 0
        engine.request_drain()

    for signum in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signum, stop)


def _consume(settings: WorkerSettings, engine: Engine, worker_id: str) -> int:
    """Take hints in this thread until a signal; returns the exit code.

    Celery ends for good if its broker refuses a write (because a disk is full, for example). The
    jobs of this process continue, and hints arrive again when the broker accepts writes.
    """
    while True:
        # Celery's WorkController without its command line: signals, banner and logs are ours
        consumer = worker_app(settings.broker_url.url, engine).WorkController(
            pool="solo",
            hostname=f"fettle@{worker_id}",
            without_gossip=True,
            without_mingle=True,
        )
        consumer.start()
        if engine.draining:
            return int(consumer.exitcode or 0)
        log.warning("broker refused", again_seconds=AGAIN_SECONDS)
        time.sleep(AGAIN_SECONDS)


def worker_app(broker_url: str, engine: Engine) -> Celery:
    """A Celery app. Its worker gives hints to the engine.

    A hint is acknowledged before the work on the job begins: the record, not the queue, remembers
    the job. The task waits for a free slot, and Celery fetches no other hint until then. A message
    is data: it can name only this task and the id of a job. Celery's remote control cannot change a
    worker, so a client that can write to the broker cannot stop the worker.
    """
    app = hints.celery_app(
        broker_url,
        worker_prefetch_multiplier=1,
        broker_connection_max_retries=None,
    )

    picker = hints.JobPicker(broker_url)

    def take_hint(task: Task, job_id: str) -> None:
        step = (task.request.delivery_info or {}).get("priority")
        if is_job_id(picked := picker.pick(job_id, step)):
            engine.take(picked)

    # Celery decodes and runs messages by its current app. Without one, it makes a default app with
    # tasks and settings of its own.
    app.set_current()
    for name in list(app.tasks):
        app.tasks.unregister(name)
    app.task(take_hint, name=hints.NAME, bind=True, shared=False)
    for name in list(Panel.data):
        if name not in REMOTE_CONTROL:
            del Panel.data[name]
    return app

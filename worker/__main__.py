"""`python -m worker`: one worker process. `--alone JOB` works on that job only, then ends."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import sys
from types import FrameType

import click
import structlog
from celery.worker import state as celery_state

from jobs.errors import JobsError
from sandbox.protocol import SandboxError
from settings.logs import configure
from settings.worker import WorkerSettings
from worker.engine import Engine
from worker.tasks import worker_app

log = structlog.get_logger("worker")


@click.command()
@click.option("--alone", metavar="JOB", help="work on this job only, in a process of its own")
def main(alone: str | None) -> None:
    """Work on jobs until a signal."""
    settings = WorkerSettings()
    configure(settings.log_format, settings.log_level)
    worker_id = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(3)}"
    engine = Engine(settings, worker_id)
    try:
        engine.start()
    except (JobsError, SandboxError) as error:
        log.error("worker cannot start", why=str(error))
        sys.exit(1)
    if alone:
        engine.work_alone(alone)
    else:
        log.info("worker ready", worker=worker_id, slots=settings.concurrency)
        _consume(settings, engine, worker_id)
    engine.stop(settings.drain_seconds)


def _consume(settings: WorkerSettings, engine: Engine, worker_id: str) -> None:
    """Take hints in this thread until a signal; the second one does not wait for anything."""
    asked = 0

    def stop(signum: int, _: FrameType | None) -> None:
        nonlocal asked
        asked += 1
        if asked > 1:
            os._exit(128 + signum)  # rooms die with our socket, jobs go back by their leases
        celery_state.should_stop = 0
        engine.request_drain()

    for signum in (signal.SIGTERM, signal.SIGINT):
        signal.signal(signum, stop)
    # Celery's WorkController without its command line: signals, banner and logs are ours
    consumer = worker_app(settings.broker_url, engine).WorkController(
        pool="solo",
        hostname=f"fettle@{worker_id}",
        without_gossip=True,
        without_mingle=True,
        without_heartbeat=True,
    )
    consumer.start()


if __name__ == "__main__":
    main()

"""A process of its own for a job that has crashed twice (J7)."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Callable
from typing import TypeVar

import structlog

from worker.zygote import Zygote

T = TypeVar("T")

log = structlog.get_logger("worker.alone")


async def run_alone(job_id: str, draining: asyncio.Event, zygote: Zygote | None = None) -> None:
    """Work on one job in a worker of its own, to the attempt's end; drains with this one.

    It is forked from the zygote; where there is none, or it was lost, everything is loaded anew.
    """
    log.warning("job runs alone", job_id=job_id)
    code = await _forked(zygote, job_id, draining) if zygote is not None else None
    if code is None and not draining.is_set():
        code = await _loaded(job_id, draining)
    if code:
        log.warning("job's own process ended", job_id=job_id, exit_code=code)


async def _forked(zygote: Zygote, job_id: str, draining: asyncio.Event) -> int | None:
    """The exit code; None where nobody knows."""
    try:
        channel = zygote.ask(job_id)
    except OSError as error:
        log.warning("the zygote is gone", error=str(error))
        return None
    reader, writer = await asyncio.open_unix_connection(sock=channel)
    try:
        said = await _unless_draining(
            asyncio.create_task(reader.read()), draining, lambda: writer.write(b".")
        )
    finally:
        writer.close()
    return int(said) if said else None


async def _loaded(job_id: str, draining: asyncio.Event) -> int:
    # as this worker was started: a folder `worker` in the working directory must not stand in
    safe = ["-P"] if sys.flags.safe_path else []
    process = await asyncio.create_subprocess_exec(
        sys.executable, *safe, "-m", "worker", "--alone", job_id
    )

    def stop() -> None:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()

    return await _unless_draining(asyncio.create_task(process.wait()), draining, stop)


async def _unless_draining(
    ended: asyncio.Task[T], draining: asyncio.Event, stop: Callable[[], None]
) -> T:
    """What the end tells; it is asked for where this worker drains."""
    drained = asyncio.create_task(draining.wait())
    await asyncio.wait({ended, drained}, return_when=asyncio.FIRST_COMPLETED)
    drained.cancel()
    if not ended.done():
        stop()
    return await ended

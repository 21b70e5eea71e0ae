"""A process of its own for a job that has crashed twice (J7)."""

from __future__ import annotations

import asyncio
import contextlib
import sys

import structlog

log = structlog.get_logger("worker.alone")


async def run_alone(job_id: str, draining: asyncio.Event) -> None:
    """Work on one job in a worker of its own, to the attempt's end; drains with this one."""
    log.warning("job runs alone", job_id=job_id)
    # as this worker was started: a folder `worker` in the working directory must not stand in
    safe = ["-P"] if sys.flags.safe_path else []
    process = await asyncio.create_subprocess_exec(
        sys.executable, *safe, "-m", "worker", "--alone", job_id
    )
    ended = asyncio.create_task(process.wait())
    drained = asyncio.create_task(draining.wait())
    await asyncio.wait({ended, drained}, return_when=asyncio.FIRST_COMPLETED)
    drained.cancel()
    if not ended.done():
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
    code = await ended
    if code != 0:
        log.warning("job's own process ended", job_id=job_id, exit_code=code)

"""Recordings: the jobs that are recorded, and their files for the operator."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

import structlog
from pydantic import SecretStr

from agents.redaction import Redaction
from jobs.blobs import atomic_write
from jobs.blobs.directory import Blobs
from jobs.errors import JobsError
from jobs.model.record import JobRecord
from jobs.store.redis_store import RedisStore
from jobs.view.recording import SUFFIX, build_recording
from settings.worker import WorkerSettings

log = structlog.get_logger("worker.adapters.recordings")


@dataclass(frozen=True, slots=True)
class Recordings:
    """`folder`: every job is recorded, into a file there; None: only jobs that ask for it, and the
    API serves the recording."""

    folder: Path | None
    redaction: Redaction

    def of(self, record: JobRecord) -> Redaction | None:
        """The redaction of this job's recording; None if the job is not recorded."""
        return self.redaction if self.folder is not None or record.spec.record else None

    async def write(self, record: JobRecord, store: RedisStore, blobs: Blobs) -> None:
        """Write the job's recording so far to its file, in one step. Only its owner can read the
        file, because it has prompts.

        If the file cannot be written, this logs a warning, and the job does not fail.
        """
        if self.folder is None:
            return
        try:
            content = await build_recording(record.id, await store.events(record.id), blobs)
            if content is not None:
                await asyncio.to_thread(_put, self.folder / f"{record.id}{SUFFIX}", content)
        except (JobsError, OSError) as error:
            log.warning("recording not written", job_id=record.id, why=str(error))


def redaction(settings: WorkerSettings) -> Redaction:
    """A redaction of all secrets in the settings, and of the passwords in the addresses of Redis. A
    provider may repeat the value of a header without its scheme, such as `Bearer`."""
    values = [getattr(settings, name) for name in type(settings).model_fields]
    secrets = [value.get_secret_value() for value in values if isinstance(value, SecretStr)]
    passwords = [address.password for address in (settings.redis_url, settings.broker_url)]
    headers = [value or "" for row in settings.headers().values() for value in row.values()]
    keys = [value.rpartition(" ")[2] for value in map(str.strip, headers)]
    return Redaction.of([*secrets, *passwords, *headers, *keys])


def _put(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    atomic_write.write(path, content)

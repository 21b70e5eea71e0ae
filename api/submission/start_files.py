"""The files that a job started from."""

from __future__ import annotations

from api.services import Services
from jobs.blobs import manifest
from jobs.blobs.manifest import Manifest
from jobs.model.record import JobRecord
from jobs.store import ENTRIES_KEPT


async def start_files(services: Services, record: JobRecord) -> Manifest:
    """The submitted files, over the files that the earlier job of the conversation left. Files of a
    repository's commit are not among them.

    If the job ended without success, these are only the submitted files, because the conversation
    does not say which job was before it.
    """
    submitted = await manifest.load(services.blobs, record.spec.workspace)
    earlier = await manifest.load(services.blobs, await _left_before(services, record))
    return earlier.with_files(submitted.files, frozenset())


async def _left_before(services: Services, record: JobRecord) -> str | None:
    """The workspace of the job before this one in the conversation, or None."""
    if record.conversation_id == record.id:
        return None
    store = services.store
    entries = await store.conversation(record.tenant, record.conversation_id, ENTRIES_KEPT)
    ids = [entry.job_id for entry in entries]  # the newest first
    if record.id in ids:
        entries = entries[ids.index(record.id) + 1 :]
    elif record.status.final:
        return None
    return entries[0].workspace if entries else None

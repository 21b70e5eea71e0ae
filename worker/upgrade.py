"""Jobs that this worker cannot resume: what it writes and reads, and who reads the others."""

from __future__ import annotations

from functools import cache
from importlib.metadata import version

from agents.format import READS, WRITES
from jobs import upgrade
from jobs.graph_format import GraphFormat
from jobs.record import JobRecord
from jobs.review import Review
from jobs.store.redis import RedisStore


@cache
def ours() -> GraphFormat:
    """The format that attempts of this release leave behind."""
    return GraphFormat(WRITES, version("fettle"))


def question(record: JobRecord) -> Review | None:
    """What to ask a person about a job that cannot be resumed here; None where it can be."""
    found = upgrade.unread(record, READS)
    return None if found is None else upgrade.question(record, found, READS, ours())


def damaged(record: JobRecord, place: str) -> Review:
    """What to ask a person about a job whose checkpoint cannot be decoded."""
    return upgrade.damaged(record, place, READS, ours())


async def left_to_nobody(store: RedisStore, job_id: str) -> bool:
    """Whether a job that this worker cannot resume has waited in vain for one that can."""
    loaded = await store.load(job_id)
    return loaded is not None and upgrade.abandoned(loaded.record, await store.workers())

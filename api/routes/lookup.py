"""Lookup: the job that a path names, if it is the caller's tenant's; else 404."""

from __future__ import annotations

import re

from api import problems
from api.problems import Refused
from api.services import Services
from jobs.model.credentials import Credential
from jobs.store import Loaded

_ID = re.compile(r"[0-9a-f]{20}")


async def find_job(services: Services, caller: Credential, job_id: str) -> Loaded:
    """The job and the time; another tenant's is as unknown as one that does not exist."""
    # an id is part of a name in Redis: nothing but an id may come so far
    loaded = await services.store.load(job_id) if _ID.fullmatch(job_id) else None
    if loaded is None or loaded.record.tenant != caller.tenant:
        raise Refused(problems.NOT_FOUND, "there is no such job")
    return loaded

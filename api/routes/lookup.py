"""find_job: the job of a path, if it belongs to the caller's tenant; else 404."""

from __future__ import annotations

import re

from api import problems
from api.problems import Refused
from api.services import Services
from jobs.model.credentials import Credential
from jobs.store import Loaded

_ID = re.compile(r"[0-9a-f]{20}")


async def find_job(services: Services, caller: Credential, job_id: str) -> Loaded:
    """The job and the time. Another tenant's job is a 404, like one that does not exist."""
    # an id becomes part of a Redis key: nothing but an id may be used
    loaded = await services.store.load(job_id) if _ID.fullmatch(job_id) else None
    if loaded is None or loaded.record.tenant != caller.tenant:
        raise Refused(problems.NOT_FOUND, "this job does not exist")
    return loaded

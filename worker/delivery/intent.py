"""The change that a job delivers, on record before anything of it leaves the worker.

Later attempts deliver the same commit, whatever the settings that it was made with have become. So
does a retry, which has the journal of its parent: a branch that this had pushed counts as pushed.
"""

from __future__ import annotations

import json

from agents.errors import StateUnreadable
from agents.ports import Finished
from jobs.blobs.directory import Blobs
from jobs.model.record import JobRecord
from worker.adapters.repository import BRANCH, Delivered
from worker.delivery.deliver import Change
from worker.ledger import Ledger
from worker.repositories.patches import tip


async def intended(record: JobRecord, ledger: Ledger, blobs: Blobs, delivered: Delivered) -> Change:
    """The change with this patch: as an earlier attempt recorded it, or else as it is now; records
    it then."""
    key = f"delivery|{delivered.patch.digest}"
    entry = await ledger.recall(key)
    if entry is None:
        entry = json.dumps({"branch": f"{BRANCH}{record.id}", "bundle": delivered.bundle}).encode()
        await ledger.record(key, Finished(entry))
    try:
        fields = json.loads(entry)
        branch, digest = fields["branch"], fields["bundle"]
    except (ValueError, TypeError, KeyError) as error:
        raise StateUnreadable(f"journal entry {key}: {type(error).__name__}: {error}") from error
    bundle = await blobs.get(digest)
    return Change(branch, tip(bundle), bundle)

"""A job's recording: the recorded turns of the model, as one file.

A worker stores each turn of a recorded job as a blob, and names its digest in the call's
`model_called` event (`recorded`). So the recording is as durable as the job, has the order of its
events on any number of workers, and is removed with the job.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

from jobs.blobs.directory import Blobs
from jobs.model.events import Event, events_since_restart

SUFFIX = ".yaml"


async def build_recording(job_id: str, events: Sequence[Event], blobs: Blobs) -> bytes | None:
    """The file as UTF-8; None if the job was not recorded, or has called no model yet.

    Raises BlobsUnavailable, or BlobMissing if bytes were removed.
    """
    calls = [event.data for event in events_since_restart(events) if event.kind == "model_called"]
    digests = [call["recorded"] for call in calls if call.get("recorded")]
    if not digests:
        return None
    turns = await asyncio.gather(*map(blobs.get, digests))
    models = sorted({str(call["model"]) for call in calls})
    description = f"Job {job_id}, answered by {', '.join(models)}. Secrets are removed."
    head = f"about: {json.dumps(description)}\nstrict: true\nturns:\n"  # a JSON text is YAML too
    return b"".join([head.encode(), *turns])

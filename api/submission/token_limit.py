"""The least token limit of a job. It depends on the workers' settings, which they announce."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from api.schemas.job_request import Terms
from api.schemas.problem import FieldError
from api.submission.job_requests import refuse
from jobs.store.redis_store import RedisStore

RECORDING = "recording:"


async def check_tokens(store: RedisStore, asked: Terms) -> None:
    """Raise Refused, a 422 with the least that works, where no worker could finish a small
    job within the limit. Without a worker there is nothing to compare with."""
    if asked.max_tokens is None:
        return
    needed = [_call_tokens(worker, asked.model) for worker in await store.workers()]
    least = min(needed, default=0)
    if asked.max_tokens < least:
        message = f"the calls of even a small job can take {least:,} tokens: that is the least"
        refuse([FieldError(field="max_tokens", message=message, limit=least)])


def _call_tokens(worker: Mapping[str, Any], model: str | None) -> int:
    """What a small job's calls set aside; nothing is known of an older release, and recordings set
    aside what they have."""
    name = model or worker.get("models", {}).get("default") or ""
    return 0 if name.startswith(RECORDING) else int(worker.get("call_tokens", 0))

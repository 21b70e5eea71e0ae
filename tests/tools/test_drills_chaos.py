"""`fettle chaos --url` on a service that does not take what it asks for, and on one that does."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from support.processes.api_process import environment, running

from cli.errors import CliError
from drills.chaos.load import specs
from jobs.model.record import Status
from jobs.store.redis_store import RedisStore, connect
from settings.base import DEVELOPMENT_KEY


async def statuses(redis_url: str) -> dict[Status, int]:
    store = RedisStore(connect(redis_url, seconds=20))
    counts = {status: count for status, count in (await store.counts()).items() if count}
    await store.close()
    return counts


@pytest.mark.parametrize("approvals", ["1", "2"])
async def test_it_begins_only_where_one_key_can_answer_a_review(
    redis_url: str, tmp_path: Path, approvals: str
) -> None:
    env = environment(redis_url, tmp_path, review_approvals=approvals)
    with running(env, tmp_path / "api.log") as api:
        taken = asyncio.to_thread(specs.require_accepted, api.url, DEVELOPMENT_KEY)
        if approvals == "1":
            await taken
            assert await statuses(redis_url) == {Status.CANCELLED: 1}
        else:
            with pytest.raises(CliError, match="requires 2 approvals"):
                await taken
            assert await statuses(redis_url) == {}

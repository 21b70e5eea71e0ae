"""Checkpoint savers for tests: one that writes without a guard, and one that lists checkpoints."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple, get_checkpoint_id
from redis.asyncio import Redis

from jobs.redis.connection import RedisCommand
from jobs.redis.keys import JobKeys
from jobs.store.commit import AtomicStep, Commit
from worker.checkpoints import RedisSaver, Write
from worker.checkpoints.layout import ThreadKeys, decode
from worker.store import Patience


def unfenced(redis: Redis) -> Write:
    """A `Write` that uses the script of all writes, but without a guard."""
    commit = Commit(redis)

    async def write(commands: Sequence[RedisCommand]) -> None:
        await commit.apply(AtomicStep(JobKeys("none"), commands=commands))

    return write


class ListingSaver(RedisSaver):
    """The saver with `alist`, which LangGraph's history and its conformance suite use to list a
    thread's checkpoints, newest of each namespace first.
    """

    def __init__(self, redis: Redis, write: Write) -> None:
        super().__init__(redis, write, Patience(30))
        self._redis = redis

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        assert config is not None
        assert not filter
        bound = get_checkpoint_id(before) if before else None
        configurable = config["configurable"]
        names = await self._redis.zrange(
            ThreadKeys(configurable["thread_id"]).index, 0, -1, desc=True
        )
        for name in names if limit is None else names[:limit]:
            namespace, _, checkpoint_id = name.decode().partition(":")
            checkpoint_key = {"checkpoint_ns": decode(namespace), "checkpoint_id": checkpoint_id}
            if (
                configurable.get("checkpoint_ns", checkpoint_key["checkpoint_ns"])
                != checkpoint_key["checkpoint_ns"]
            ):
                continue
            if bound is not None and checkpoint_id >= bound:
                continue
            checkpoint = await self.aget_tuple({"configurable": {**configurable, **checkpoint_key}})
            if checkpoint is not None:
                yield checkpoint

"""The saver: LangGraph's calls to commands and reads."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
    PendingWrite,
    get_checkpoint_id,
    get_serializable_checkpoint_metadata,
)
from langgraph.checkpoint.serde.base import SerializerProtocol
from redis.asyncio import Redis

from jobs import keys
from worker.checkpoints.async_only import AsyncOnlySaver
from worker.checkpoints.errors import reading
from worker.checkpoints.keys import Keys, decode, encode, member, parse_member, value_name
from worker.checkpoints.reader import PAGE, Reader
from worker.checkpoints.records import PendingValue, StoredCheckpoint, pack
from worker.checkpoints.threads import Threads
from worker.checkpoints.writing import Command, Write


class RedisSaver(AsyncOnlySaver):
    """Keeps a graph's checkpoints in Redis 7.0+ or Valkey; layout in the package's docstring.

    `redis` reads, and answers bytes (`decode_responses=False`). `write` changes, and may refuse:
    what it raises passes through. Safe for any number of graphs in one event loop.
    """

    def __init__(
        self,
        redis: Redis,
        write: Write,
        *,
        prefix: str = keys.CHECKPOINT,
        serde: SerializerProtocol | None = None,
    ) -> None:
        super().__init__(serde=serde)
        if redis.connection_pool.connection_kwargs.get("decode_responses"):
            raise ValueError("checkpoints are bytes: use a client with decode_responses=False")
        self._write = write
        self._keys = Keys(prefix)
        self._reader = Reader(redis)
        self._threads = Threads(self._keys, self._reader, write)

    def get_next_version(self, current: str | None, channel: None) -> str:  # noqa: ARG002
        """The version after `current`, which sorts behind it.

        The random end keeps branches of a thread apart: each has its own value after `current`.
        """
        number = 0 if current is None else int(str(current).partition(".")[0])
        return f"{number + 1:08d}.{random.getrandbits(32):08x}"

    # Reading

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint that `config` names, else the newest of its namespace. One round trip."""
        thread_id, namespace = _place(config)
        keys = self._keys.thread(thread_id)
        if checkpoint_id := get_checkpoint_id(config):
            async for _, stored in self._reader.named(keys, [member(namespace, checkpoint_id)]):
                return self._tuple(thread_id, namespace, stored)
            return None
        with reading("the newest checkpoint"):
            newest = await self._reader.newest(keys, namespace)
        return None if newest is None else self._tuple(thread_id, namespace, newest)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Checkpoints of a thread (of all, without `config`), newest of each namespace first.

        `filter` holds metadata that must match; `before` names a checkpoint id that all are older
        than. Without a namespace in `config`, those of all namespaces.
        """
        left = float("inf") if limit is None else limit
        page = PAGE if filter else int(min(PAGE, max(left, 1)))
        async for thread_id, namespace, stored in self._stored(config, before, page):
            if left <= 0:
                return
            if filter:
                metadata = self.serde.loads_typed(stored.metadata)
                if any(metadata.get(key) != value for key, value in filter.items()):
                    continue
            yield self._tuple(thread_id, namespace, stored)
            left -= 1

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """What rebuilds each channel: see the base class. One round trip for 100 ancestors."""
        thread_id, namespace = _place(config)
        history: dict[str, DeltaChannelHistory] = {name: {"writes": []} for name in channels}
        async for ancestor in self._reader.ancestors(
            self._keys.thread(thread_id), namespace, get_checkpoint_id(config) or "", channels
        ):
            for write in reversed(ancestor.writes):
                history[write.channel]["writes"].append(self._pending(write))
            for name, value in ancestor.seeds.items():
                history[decode(name)]["seed"] = self.serde.loads_typed(value)
        for entry in history.values():
            entry["writes"].reverse()
        return history

    # Writing

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Save a checkpoint and the values that are new in it, in one write; answer its config."""
        thread_id, namespace = _place(config)
        keys = self._keys.thread(thread_id)
        saved_metadata = get_serializable_checkpoint_metadata(config, metadata)
        name = member(namespace, checkpoint["id"])
        commands: list[Command] = [
            ("HSET", keys.checkpoint(name), *self._fields(config, checkpoint, saved_metadata)),
            ("ZADD", keys.index, 0, name),
            ("SADD", self._keys.threads, encode(thread_id)),
        ]
        if values := self._new_values(checkpoint["channel_values"], new_versions):
            commands.append(("HSET", keys.values(namespace), *values))
        if run_id := saved_metadata.get("run_id"):
            commands.append(("SADD", keys.runs, str(run_id)))
            commands.append(("SADD", self._keys.run(str(run_id)), encode(thread_id)))
        await self._write(thread_id, commands)
        return _config(thread_id, namespace, checkpoint["id"])

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Save what a graph task wrote, in one write, be its checkpoint there yet or not.

        A task's ordinary writes are kept as they first came: on a second branch from the same
        checkpoint the first branch still needs them. Errors, interrupts and resumes are replaced.
        """
        if not writes:
            return
        thread_id, namespace = _place(config)
        keys = self._keys.thread(thread_id)
        name = member(namespace, config["configurable"]["checkpoint_id"])
        commands: list[Command] = [("ZADD", keys.index, 0, name)]
        for position, (channel, value) in enumerate(writes):
            index = WRITES_IDX_MAP.get(channel, position)
            typed = self.serde.dumps_typed(value)
            pending = PendingValue(task_id, index, channel, task_path, typed)
            verb = "HSETNX" if index >= 0 else "HSET"
            commands.append((verb, keys.checkpoint(name), pending.field, pending.pack()))
        await self._write(thread_id, commands)

    # Whole threads

    async def adelete_thread(self, thread_id: str) -> None:
        """Remove all that is kept of a thread, in one write for each 1,000 checkpoints."""
        await self._threads.delete(str(thread_id))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy all that is kept of a thread to another, in one write of the target."""
        await self._threads.copy(str(source_thread_id), str(target_thread_id))

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Thin out threads, one write each: `keep_latest` (of each namespace) or `delete`.

        What the latest needs to rebuild its delta channels is kept too.
        """
        if strategy not in {"keep_latest", "delete"}:
            raise ValueError(f"strategy {strategy!r}: choose keep_latest or delete")
        for thread_id in thread_ids:
            if strategy == "delete":
                await self._threads.delete(str(thread_id))
            else:
                await self._threads.keep_latest(str(thread_id), self.serde.loads_typed)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Remove the checkpoints whose metadata bears one of these run ids, with their writes.

        A delta channel whose past lies in them is cut off from it: see the base class.
        """
        for run_id in run_ids:
            await self._threads.delete_run(str(run_id), self.serde.loads_typed)

    # Between records and LangGraph's types

    async def _stored(
        self, config: RunnableConfig | None, before: RunnableConfig | None, page: int
    ) -> AsyncIterator[tuple[str, str, StoredCheckpoint]]:
        """Thread, namespace and record of what `config` and `before` allow, in `alist`'s order."""
        wanted = namespace = None
        if config is None:
            threads = [decode(name) for name in await self._reader.members(self._keys.threads)]
        else:
            threads = [str(config["configurable"]["thread_id"])]
            namespace = config["configurable"].get("checkpoint_ns")
            wanted = get_checkpoint_id(config)
        bound = get_checkpoint_id(before) if before else None
        for thread_id in threads:
            keys = self._keys.thread(thread_id)
            names = [
                name
                for name in await self._reader.names(keys, namespace)
                if _allowed(parse_member(name)[1], wanted, bound)
            ]
            async for name, stored in self._reader.named(keys, names, page):
                yield thread_id, parse_member(name)[0], stored

    def _tuple(self, thread_id: str, namespace: str, stored: StoredCheckpoint) -> CheckpointTuple:
        load = self.serde.loads_typed
        place = f"checkpoint {stored.checkpoint_id}"
        with reading(place):
            checkpoint = load(stored.checkpoint)
            metadata = load(stored.metadata)
        values = {}
        for name, value in stored.values.items():
            with reading(f"{place}, {name}"):
                values[name] = load(value)
        with reading(f"{place}, what waits"):
            pending = [self._pending(write) for write in stored.writes]
            checkpoint["channel_values"] = values
        parent = stored.parent_id
        return CheckpointTuple(
            config=_config(thread_id, namespace, stored.checkpoint_id),
            checkpoint=checkpoint,
            metadata=metadata,
            parent_config=_config(thread_id, namespace, parent) if parent else None,
            pending_writes=pending,
        )

    def _pending(self, write: PendingValue) -> PendingWrite:
        return write.task_id, write.channel, self.serde.loads_typed(write.value)

    def _fields(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata
    ) -> list[str | bytes]:
        """Names and values of a checkpoint's hash."""
        bare = {name: value for name, value in checkpoint.items() if name != "channel_values"}
        held = [
            value_name(channel, version)
            for channel, version in checkpoint["channel_versions"].items()
            if channel in checkpoint["channel_values"]
        ]
        fields: list[str | bytes] = ["c", pack(self.serde.dumps_typed(bare))]
        fields += ["m", pack(self.serde.dumps_typed(metadata)), "v", " ".join(held)]
        if parent := get_checkpoint_id(config):
            fields += ["p", parent]
        return fields

    def _new_values(
        self, values: Mapping[str, Any], new_versions: ChannelVersions
    ) -> list[str | bytes]:
        """Names and bytes of the values that a checkpoint is the first to hold."""
        fields: list[str | bytes] = []
        for channel, version in new_versions.items():
            if channel in values:
                fields.append(value_name(channel, version))
                fields.append(pack(self.serde.dumps_typed(values[channel])))
        return fields


def _place(config: RunnableConfig) -> tuple[str, str]:
    """Thread id and namespace that a config names."""
    configurable = config["configurable"]
    return str(configurable["thread_id"]), configurable.get("checkpoint_ns", "")


def _config(thread_id: str, namespace: str, checkpoint_id: str) -> RunnableConfig:
    return {
        "configurable": {
            "thread_id": thread_id,
            "checkpoint_ns": namespace,
            "checkpoint_id": checkpoint_id,
        }
    }


def _allowed(checkpoint_id: str, wanted: str | None, bound: str | None) -> bool:
    return wanted in (None, checkpoint_id) and (bound is None or checkpoint_id < bound)

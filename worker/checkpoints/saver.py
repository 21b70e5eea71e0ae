"""The saver: translates LangGraph's calls to commands for Redis."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
    PendingWrite,
    get_checkpoint_id,
    get_serializable_checkpoint_metadata,
)
from redis.asyncio import Redis

from agents.calls.serializer import SERIALIZER
from jobs.redis.connection import RedisCommand
from jobs.store.commit import CHECKPOINTS_PER_STEP, remove_checkpoints
from worker.checkpoints.layout import (
    PendingValue,
    StoredCheckpoint,
    ThreadKeys,
    Typed,
    decode,
    encode,
    member,
    pack,
    value_name,
)
from worker.checkpoints.reader import CheckpointReader, reading
from worker.store import Patience

Write = Callable[[Sequence[RedisCommand]], Awaitable[None]]
"""Applies the commands of one thread in one atomic step.

No command has more than 2,000 arguments or depends on another's answer. Raises when the writer no
longer owns the thread (its epoch is old); then no command is applied.
"""
Check = Callable[[str, Any], None]
"""Raises StateUnreadable for a value that the channel of this name cannot have."""


class RedisSaver(BaseCheckpointSaver[str]):
    """Keeps a graph's checkpoints in Redis 7.0+ or Valkey; layout in the package's docstring.

    It implements the methods that LangGraph calls while a graph runs, `adelete_thread` and
    `acopy_thread`. Listing, pruning and the synchronous methods raise NotImplementedError. `redis`
    is a client for reads that returns bytes (`decode_responses=False`). A read waits for Redis as
    long as `patience`. All writes go through `write`, and its exceptions pass through. `check` is
    called with each value that is read of a thread's root graph. All graphs of one event loop can
    share a saver.
    """

    def __init__(
        self, redis: Redis, write: Write, patience: Patience, check: Check = lambda *_: None
    ) -> None:
        super().__init__(serde=SERIALIZER)
        if redis.connection_pool.connection_kwargs.get("decode_responses"):
            raise ValueError("checkpoints are bytes: use a client with decode_responses=False")
        self._write = write
        self._check = check
        self._reader = CheckpointReader(redis, patience)

    def get_next_version(self, current: str | None, channel: None) -> str:  # noqa: ARG002
        """A version that sorts after `current`. The random end distinguishes the values of two
        branches of a thread that continue from the same version.
        """
        number = 0 if current is None else int(str(current).partition(".")[0])
        return f"{number + 1:08d}.{random.getrandbits(32):08x}"

    # Reading

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint that `config` names, else the newest of its namespace. One round trip."""
        thread_id, namespace = _thread_and_namespace(config)
        checkpoint_id = get_checkpoint_id(config) or ""
        with reading(f"checkpoint {checkpoint_id or 'newest'}"):
            stored = await self._reader.checkpoint(ThreadKeys(thread_id), namespace, checkpoint_id)
        return None if stored is None else self._tuple(thread_id, namespace, stored)

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """The writes and the stored value from which each channel is rebuilt: see the base class.
        Needs one round trip for 100 ancestors."""
        thread_id, namespace = _thread_and_namespace(config)
        checkpoint_id = get_checkpoint_id(config) or ""
        history: dict[str, DeltaChannelHistory] = {name: {"writes": []} for name in channels}
        with reading(f"ancestors of checkpoint {checkpoint_id or 'newest'}"):
            async for ancestor in self._reader.ancestors(
                ThreadKeys(thread_id), namespace, checkpoint_id, channels
            ):
                for write in reversed(ancestor.writes):
                    history[write.channel]["writes"].append(self._pending(write, namespace))
                for name, value in ancestor.seeds.items():
                    channel = decode(name)
                    history[channel]["seed"] = self._value(channel, value, namespace)
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
        """Save a checkpoint and its new values in one write; returns its config."""
        thread_id, namespace = _thread_and_namespace(config)
        thread = ThreadKeys(thread_id)
        saved_metadata = get_serializable_checkpoint_metadata(config, metadata)
        name = member(namespace, checkpoint["id"])
        commands: list[RedisCommand] = [
            ("HSET", thread.checkpoint(name), *self._fields(config, checkpoint, saved_metadata)),
            ("ZADD", thread.index, 0, name),
        ]
        if values := self._new_values(checkpoint["channel_values"], new_versions):
            commands.append(("HSET", thread.values(namespace), *values))
        await self._write(commands)
        return _config(thread_id, namespace, checkpoint["id"])

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Save the writes of a graph task in one write, also before its checkpoint is saved.

        The first ordinary writes of a task stay: if a second branch starts from the same
        checkpoint, the first branch still needs them. Errors, interrupts and resumes are replaced.
        """
        if not writes:
            return
        thread_id, namespace = _thread_and_namespace(config)
        thread = ThreadKeys(thread_id)
        name = member(namespace, config["configurable"]["checkpoint_id"])
        commands: list[RedisCommand] = [("ZADD", thread.index, 0, name)]
        for position, (channel, value) in enumerate(writes):
            index = WRITES_IDX_MAP.get(channel, position)
            typed = self.serde.dumps_typed(value)
            pending = PendingValue(task_id, index, channel, task_path, typed)
            verb = "HSETNX" if index >= 0 else "HSET"
            commands.append((verb, thread.checkpoint(name), pending.field, pending.pack()))
        await self._write(commands)

    # Whole threads

    async def adelete_thread(self, thread_id: str) -> None:
        """Remove all data of a thread in bounded steps. After an interruption, a second call
        removes the remaining data, which is still in the index.
        """
        names = await self._reader.names(ThreadKeys(thread_id))
        command = remove_checkpoints(encode(thread_id))
        for _ in range(0, max(len(names), 1), CHECKPOINTS_PER_STEP):
            await self._write([command])

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy all data of a thread to another thread, in one write of the target. The copy
        includes all ancestors, because the delta channels need them.
        """
        source, target = ThreadKeys(source_thread_id), ThreadKeys(target_thread_id)
        names = await self._reader.names(source)
        if not names or source == target:
            return
        namespaces = sorted({decode(name.partition(":")[0]) for name in names})
        copies = [(source.checkpoint(name), target.checkpoint(name)) for name in names]
        copies += [(source.values(name), target.values(name)) for name in namespaces]
        commands: list[RedisCommand] = [("COPY", old, new, "REPLACE") for old, new in copies]
        commands += [("ZADD", target.index, 0, name) for name in names]
        await self._write(commands)

    # Between records and LangGraph's types

    def _tuple(self, thread_id: str, namespace: str, stored: StoredCheckpoint) -> CheckpointTuple:
        load = self.serde.loads_typed
        location = f"checkpoint {stored.checkpoint_id}"
        with reading(location):
            checkpoint = load(stored.checkpoint)
            metadata = load(stored.metadata)
            _check_shape(checkpoint, metadata)
        values = {}
        for name, value in stored.values.items():
            with reading(f"{location}, {name}"):
                values[name] = self._value(name, value, namespace)
        with reading(f"{location}, pending writes"):
            pending = [self._pending(write, namespace) for write in stored.writes]
        checkpoint["channel_values"] = values
        parent = stored.parent_id
        return CheckpointTuple(
            config=_config(thread_id, namespace, stored.checkpoint_id),
            checkpoint=checkpoint,
            metadata=metadata,
            parent_config=_config(thread_id, namespace, parent) if parent else None,
            pending_writes=pending,
        )

    def _pending(self, write: PendingValue, namespace: str) -> PendingWrite:
        value = self._value(write.channel, write.value, namespace)
        return write.task_id, write.channel, value

    def _value(self, channel: str, stored: Typed, namespace: str) -> Any:
        value = self.serde.loads_typed(stored)
        if not namespace:
            self._check(channel, value)
        return value

    def _fields(
        self, config: RunnableConfig, checkpoint: Checkpoint, metadata: CheckpointMetadata
    ) -> list[str | bytes]:
        """Names and values of a checkpoint's hash."""
        bare = {name: value for name, value in checkpoint.items() if name != "channel_values"}
        names = [
            value_name(channel, version)
            for channel, version in checkpoint["channel_versions"].items()
            if channel in checkpoint["channel_values"]
        ]
        fields: list[str | bytes] = ["c", pack(self.serde.dumps_typed(bare))]
        fields += ["m", pack(self.serde.dumps_typed(metadata)), "v", " ".join(names)]
        if parent := get_checkpoint_id(config):
            fields += ["p", parent]
        return fields

    def _new_values(
        self, values: Mapping[str, Any], new_versions: ChannelVersions
    ) -> list[str | bytes]:
        """Names and bytes of the values that no earlier checkpoint has."""
        fields: list[str | bytes] = []
        for channel, version in new_versions.items():
            if channel in values:
                fields.append(value_name(channel, version))
                fields.append(pack(self.serde.dumps_typed(values[channel])))
        return fields


def _check_shape(checkpoint: Any, metadata: Any) -> None:
    """Raises LookupError or TypeError if LangGraph could not use them."""
    parts = {
        "channel_versions": (checkpoint["channel_versions"], dict),
        "versions_seen": (checkpoint["versions_seen"], dict),
        "id": (checkpoint["id"], str),
        "v": (checkpoint["v"], int),
        "step": (metadata["step"], int),
    }
    for name, (part, type_) in parts.items():
        if not isinstance(part, type_):
            raise TypeError(f"{name} is {type(part).__name__}")


def _thread_and_namespace(config: RunnableConfig) -> tuple[str, str]:
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

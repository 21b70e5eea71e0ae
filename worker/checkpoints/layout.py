"""The layout of a thread's keys in Redis, and the records in its hashes, in serialised form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote, unquote

from langgraph.checkpoint.base import writes_sort_key

from jobs.redis import keys


def encode(text: str) -> str:
    """`text` in letters, digits, `_.-~` and `%`, which do not separate parts of a key or field."""
    return quote(text, safe="", errors="surrogatepass")


def decode(name: str) -> str:
    """The text that `encode` has encoded."""
    return unquote(name, errors="surrogatepass")


def member(namespace: str, checkpoint_id: str) -> str:
    """A checkpoint's name in its thread's index; sorts by namespace, then by age."""
    return f"{encode(namespace)}:{checkpoint_id}"


def value_name(channel: str, version: str | float) -> str:
    """The field under which a channel's value at a version is stored."""
    return f"{encode(channel)}@{encode(str(version))}"


def parse_value_name(name: str) -> str:
    """The channel that a value belongs to."""
    return decode(name.partition("@")[0])


@dataclass(frozen=True, slots=True)
class ThreadKeys:
    """The keys of one thread."""

    thread_id: str

    @property
    def index(self) -> str:
        """The key of the index. All other keys of the thread begin with it."""
        return f"{keys.CHECKPOINT}:{encode(self.thread_id)}"

    def values(self, namespace: str) -> str:
        """The values of a namespace's channels."""
        return f"{self.index}:{encode(namespace)}"

    def checkpoint(self, name: str) -> str:
        """The key of a checkpoint, by its index member."""
        return f"{self.index}:{name}"


Typed = tuple[str, bytes]
"""A value in the form of LangGraph's serialisers: its type, and its bytes."""

CHECKPOINT = b"c"
METADATA = b"m"
PARENT = b"p"
VALUES = b"v"
WRITE = b"w:"


def pack(typed: Typed) -> bytes:
    return typed[0].encode() + b" " + typed[1]


def unpack(stored: bytes) -> Typed:
    type_, _, data = stored.partition(b" ")
    return type_.decode(), data


@dataclass(frozen=True, slots=True)
class PendingValue:
    """One write of a graph task to a channel, which LangGraph applies in the next superstep."""

    task_id: str
    index: int
    channel: str
    task_path: str
    value: Typed

    @property
    def field(self) -> str:
        return f"{WRITE.decode()}{self.task_id}:{self.index}"

    @property
    def order(self) -> tuple[str, str, int]:
        """The sort key for the order in which LangGraph applies writes."""
        return writes_sort_key(self.task_path, self.task_id, self.index)

    def pack(self) -> bytes:
        return f"{encode(self.channel)} {encode(self.task_path)} ".encode() + pack(self.value)

    @classmethod
    def unpack(cls, field: bytes, stored: bytes) -> PendingValue:
        task_id, _, index = field.decode()[len(WRITE) :].rpartition(":")
        channel, task_path, value = stored.split(b" ", 2)
        return cls(
            task_id=task_id,
            index=int(index),
            channel=decode(channel.decode()),
            task_path=decode(task_path.decode()),
            value=unpack(value),
        )


def ordered_writes(fields: Mapping[bytes, bytes]) -> list[PendingValue]:
    """The pending writes among a checkpoint's fields, in the order in which they apply."""
    writes = (PendingValue.unpack(f, v) for f, v in fields.items() if f.startswith(WRITE))
    return sorted(writes, key=lambda write: write.order)


@dataclass(frozen=True, slots=True)
class StoredCheckpoint:
    """A checkpoint in serialised form, with its values and its pending writes."""

    checkpoint_id: str
    checkpoint: Typed
    metadata: Typed
    parent_id: str | None
    values: Mapping[str, Typed]
    writes: list[PendingValue]

    @classmethod
    def from_reply(cls, reply: tuple[bytes, list[bytes], list[bytes | None]]) -> StoredCheckpoint:
        """Parse the reply of the read script: id, fields of the hash, the values named in `v`.

        Raises LookupError if a value is missing: an incomplete state must not be used.
        """
        checkpoint_id, flat, blobs = reply
        fields = pairs(flat)
        values = dict(zip(fields[VALUES].decode().split(), blobs, strict=True))
        if missing := [name for name, value in values.items() if value is None]:
            raise LookupError(f"checkpoint {checkpoint_id.decode()} lacks its values {missing}")
        parent = fields.get(PARENT)
        return cls(
            checkpoint_id=checkpoint_id.decode(),
            checkpoint=unpack(fields[CHECKPOINT]),
            metadata=unpack(fields[METADATA]),
            parent_id=None if parent is None else parent.decode(),
            values={
                parse_value_name(name): unpack(value)
                for name, value in values.items()
                if value is not None
            },
            writes=ordered_writes(fields),
        )


def pairs(flat: list[bytes]) -> dict[bytes, bytes]:
    """A Lua script's flat list of names and values as a dictionary."""
    return dict(zip(flat[::2], flat[1::2], strict=True))

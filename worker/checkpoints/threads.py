"""What is done to threads as a whole: delete, copy, thin out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from worker.checkpoints.keys import Keys, decode, encode, parse_member
from worker.checkpoints.pruning import drop, remove, superseded
from worker.checkpoints.reader import Reader
from worker.checkpoints.records import Typed
from worker.checkpoints.writing import Command, Write

DELETED_AT_ONCE = 1_000
"""Checkpoints of a thread that one write removes: bounds how long it holds Redis."""


class Threads:
    """The threads under one prefix."""

    def __init__(self, keys: Keys, reader: Reader, write: Write) -> None:
        self._keys = keys
        self._reader = reader
        self._write = write

    async def delete(self, thread_id: str) -> None:
        """Remove a thread. Cut off half-way, it can be called again: what is left stays indexed."""
        keys = self._keys.thread(thread_id)
        names = await self._reader.names(keys)
        runs = await self._reader.members(keys.runs)
        commands, names = remove(keys, names, DELETED_AT_ONCE)
        while names:
            await self._write(thread_id, commands)
            commands, names = remove(keys, names, DELETED_AT_ONCE)
        forget: list[Command] = [("SREM", self._keys.run(run), encode(thread_id)) for run in runs]
        forget += [("SREM", self._keys.threads, encode(thread_id)), ("UNLINK", keys.runs)]
        await self._write(thread_id, commands + forget)

    async def copy(self, source_id: str, target_id: str) -> None:
        """Copy a thread over another, as a whole: its delta channels need their ancestors."""
        source, target = self._keys.thread(source_id), self._keys.thread(target_id)
        names = await self._reader.names(source)
        if not names or source == target:
            return
        namespaces = sorted({parse_member(name)[0] for name in names})
        copies = [(source.checkpoint(name), target.checkpoint(name)) for name in names]
        copies += [(source.values(each), target.values(each)) for each in namespaces]
        commands: list[Command] = [("COPY", old, new, "REPLACE") for old, new in copies]
        commands += [("ZADD", target.index, 0, name) for name in names]
        commands.append(("SADD", self._keys.threads, encode(target_id)))
        for run in await self._reader.members(source.runs):
            commands.append(("SADD", target.runs, run))
            commands.append(("SADD", self._keys.run(run), encode(target_id)))
        await self._write(target_id, commands)

    async def keep_latest(self, thread_id: str, load: Callable[[Typed], Any]) -> None:
        """Drop what the newest checkpoint of each namespace does not need."""
        keys = self._keys.thread(thread_id)
        outlines = await self._reader.outlines(keys)
        if commands := drop(keys, outlines, superseded(outlines, load)):
            await self._write(thread_id, commands)

    async def delete_run(self, run_id: str, load: Callable[[Typed], Any]) -> None:
        """Drop a run's checkpoints from every thread that it touched."""
        for name in await self._reader.members(self._keys.run(run_id)):
            thread_id = decode(name)
            keys = self._keys.thread(thread_id)
            outlines = await self._reader.outlines(keys)
            gone = [
                each
                for each in outlines
                if each.metadata is not None and str(load(each.metadata).get("run_id")) == run_id
            ]
            forget: list[Command] = [
                ("SREM", keys.runs, run_id),
                ("SREM", self._keys.run(run_id), encode(thread_id)),
            ]
            await self._write(thread_id, drop(keys, outlines, gone) + forget)

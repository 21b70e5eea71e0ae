"""Reads the keys of a thread. The values stay serialised; the saver decodes them."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from redis.asyncio import Redis

from agents.errors import StateUnreadable
from jobs.errors import JobsError
from jobs.redis.connection import await_redis
from worker.checkpoints.layout import (
    PendingValue,
    StoredCheckpoint,
    ThreadKeys,
    Typed,
    encode,
    ordered_writes,
    pairs,
    unpack,
)
from worker.store import Patience

NEWEST = r"""
-- The id of the newest checkpoint of a namespace (encoded), or nil. Skips hashes that have only
-- pending writes; a crash during a save leaves a few of them.
local function newest(index, namespace)
  local offset = 0
  while true do
    local names = redis.call('ZREVRANGEBYLEX', index, '(' .. namespace .. ':\255',
      '[' .. namespace .. ':', 'LIMIT', offset, 8)
    if #names == 0 then return nil end
    for _, name in ipairs(names) do
      if redis.call('HEXISTS', index .. ':' .. name, 'c') == 1 then
        return string.sub(name, #namespace + 2)
      end
    end
    offset = offset + #names
  end
end
"""

READ = (
    NEWEST
    + r"""
-- KEYS[1]  the thread's index
-- ARGV     an encoded namespace; a checkpoint's id ('' for the newest)
-- Returns {id, fields and values of its hash, channel values}, or nil.
local index, namespace, id = KEYS[1], ARGV[1], ARGV[2]
if id == '' then id = newest(index, namespace) end
if not id then return false end
local fields = redis.call('HGETALL', index .. ':' .. namespace .. ':' .. id)
local names, complete = {}, false
for i = 1, #fields, 2 do
  if fields[i] == 'c' then complete = true end
  if fields[i] == 'v' then
    for name in string.gmatch(fields[i + 1], '%S+') do names[#names + 1] = name end
  end
end
if not complete then return false end
local values = {}
if #names > 0 then
  values = redis.call('HMGET', index .. ':' .. namespace, unpack(names))
end
return {id, fields, values}
"""
)

ANCESTORS = (
    NEWEST
    + r"""
-- KEYS[1]  the thread's index
-- ARGV     encoded namespace; a checkpoint's id ('' for the newest); the most ancestors to visit;
--          encoded channels
-- Visits the ancestors of the checkpoint, nearest first, until each channel has a stored value.
-- Returns {id of the ancestor to continue from or '',
--          {{field, pending write, ...}, {channel, value, ...}} ...}
local index, namespace, id, most = KEYS[1], ARGV[1], ARGV[2], tonumber(ARGV[3])
local missing, count = {}, 0
for i = 4, #ARGV do missing[ARGV[i]] = true; count = count + 1 end

local function visit(fields)
  local visited = {parent = false, complete = false, writes = {}, names = {}}
  for i = 1, #fields, 2 do
    local field, value = fields[i], fields[i + 1]
    if field == 'p' then visited.parent = value
    elseif field == 'c' then visited.complete = true
    elseif field == 'v' then
      for name in string.gmatch(value, '%S+') do
        if missing[string.match(name, '^[^@]*')] then visited.names[#visited.names + 1] = name end
      end
    elseif string.sub(field, 1, 2) == 'w:' and missing[string.match(value, '^[^ ]*')] then
      visited.writes[#visited.writes + 1] = field
      visited.writes[#visited.writes + 1] = value
    end
  end
  return visited
end

if id == '' then id = newest(index, namespace) or '' end
local parent = redis.call('HGET', index .. ':' .. namespace .. ':' .. id, 'p')
local trail = {}
while parent and count > 0 and #trail < most do
  id = parent
  local visited = visit(redis.call('HGETALL', index .. ':' .. namespace .. ':' .. id))
  if not visited.complete then return {'', trail} end
  local seeds = {}
  for _, name in ipairs(visited.names) do
    local value = redis.call('HGET', index .. ':' .. namespace, name)
    if value then
      local channel = string.match(name, '^[^@]*')
      seeds[#seeds + 1] = channel
      seeds[#seeds + 1] = value
      missing[channel] = nil
      count = count - 1
    end
  end
  trail[#trail + 1] = {visited.writes, seeds}
  parent = visited.parent
end
if parent and count > 0 then return {id, trail} end
return {'', trail}
"""
)


@contextlib.contextmanager
def reading(location: str) -> Iterator[None]:
    """Raise StateUnreadable, with the location, if the block cannot decode stored bytes."""
    try:
        yield
    except JobsError:
        raise
    except StateUnreadable as error:
        raise StateUnreadable(f"{location}: {error}") from error
    except Exception as error:  # damaged bytes may raise any exception
        raise StateUnreadable(f"{location}: {type(error).__name__}: {error}") from error


WALK = 100
"""The most ancestors that one call of the script visits. Until then Redis is blocked."""


@dataclass(frozen=True, slots=True)
class Ancestor:
    """The pending writes and stored values that one ancestor has for the requested channels."""

    writes: list[PendingValue]
    seeds: dict[str, Typed]
    """Stored values, by encoded channel."""


class CheckpointReader:
    """Reads checkpoints. One checkpoint, or up to `WALK` ancestors, take one round trip.

    Raises jobs.errors.StoreUnavailable, after `patience`.
    """

    def __init__(self, redis: Redis, patience: Patience) -> None:
        self._redis = redis
        self._patience = patience
        self._read = redis.register_script(READ)
        self._ancestors = redis.register_script(ANCESTORS)

    async def checkpoint(
        self, keys: ThreadKeys, namespace: str, checkpoint_id: str
    ) -> StoredCheckpoint | None:
        """One checkpoint; '' is the newest of its namespace."""
        args = [encode(namespace), checkpoint_id]
        reply = await self._patience.retry(
            lambda: await_redis(self._read(keys=[keys.index], args=args))
        )
        return StoredCheckpoint.from_reply(reply) if reply else None

    async def ancestors(
        self, keys: ThreadKeys, namespace: str, checkpoint_id: str, channels: Sequence[str]
    ) -> AsyncIterator[Ancestor]:
        """The ancestors of a checkpoint (of the newest one, if the id is ''), nearest first.

        Ends when each channel has a stored value, or at the root.
        """
        missing = {encode(channel) for channel in channels}
        while missing:
            args: list[str | int] = [encode(namespace), checkpoint_id, WALK, *missing]
            checkpoint, trail = await self._patience.retry(partial(self._walk, keys.index, args))
            for flat_writes, flat_seeds in trail:
                seeds = {name.decode(): unpack(v) for name, v in pairs(flat_seeds).items()}
                missing -= seeds.keys()
                yield Ancestor(ordered_writes(pairs(flat_writes)), seeds)
            checkpoint_id = checkpoint.decode()
            if not checkpoint_id:
                return

    async def names(self, keys: ThreadKeys) -> list[str]:
        """The names of the thread's checkpoints, from its index."""
        names = await self._patience.retry(
            lambda: await_redis(self._redis.zrange(keys.index, 0, -1))
        )
        return [name.decode() for name in names]

    async def _walk(self, index: str, args: Sequence[str | int]) -> Any:
        return await await_redis(self._ancestors(keys=[index], args=args))

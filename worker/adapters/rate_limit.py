"""RedisRateLimit: one count of a provider's requests for all workers, by Redis' clock."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping

from redis.asyncio import Redis

from agents.spending.rate_limit import LONGEST_HOLD_SECONDS, Pace, too_long
from jobs.redis import keys
from jobs.redis.connection import await_redis
from worker.store import Patience

LOOK_SECONDS = 1.0
"""How often at most a process checks whether a model without a limit is on hold."""

TURN = r"""
-- Grants the next request, in the order of the calls. No period has more requests or tokens than
-- the limit allows.
-- Reads at most 61 slots: see agents.spending.rate_limit.SLOTS.
--
-- KEYS[1] slots of the provider, newest first (list of 'last requests tokens')
-- KEYS[2] the model's hold
-- ARGV[1] the requests and ARGV[2] the tokens ('': any number) that a period of ARGV[3] ms may have
-- ARGV[4] the tokens of this request
-- ARGV[5] the longest wait, ms   ARGV[6] a slot, ms   ARGV[7] the longest wait for a hold, ms
--
-- Returns {wait in ms, 1 if the request is granted, else 0}.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local hold = math.max(redis.call('PTTL', KEYS[2]) + 1, 0)
if hold > tonumber(ARGV[7]) then return {hold, 0} end
local period, size = tonumber(ARGV[3]), tonumber(ARGV[6])
local function read(slot)
  local last, requests, tokens = string.match(slot, '^(%d+) (%d+) (%d+)$')
  return tonumber(last), tonumber(requests), tonumber(tokens)
end
local at = now + hold
local past = redis.call('LRANGE', KEYS[1], 0, -1)
if past[1] then at = math.max(at, (read(past[1]))) end
local sum, total = 0, tonumber(ARGV[4])
for _, slot in ipairs(past) do
  local last, requests, tokens = read(slot)
  if last + period <= at then break end
  sum, total = sum + requests, total + tokens
  if (ARGV[1] ~= '' and sum >= tonumber(ARGV[1]))
      or (ARGV[2] ~= '' and total > tonumber(ARGV[2])) then
    at = last + period
    break
  end
end
if at - now > tonumber(ARGV[5]) then return {at - now, 0} end
local requests, tokens = 1, tonumber(ARGV[4])
if past[1] then
  local last, before, spent = read(past[1])
  if math.floor(last / size) == math.floor(at / size) then
    requests, tokens = requests + before, tokens + spent
    redis.call('LPOP', KEYS[1])
  end
end
redis.call('LPUSH', KEYS[1], string.format('%.0f %.0f %.0f', at, requests, tokens))
while true do
  local oldest = redis.call('LINDEX', KEYS[1], -1)
  if (read(oldest)) + period > at then break end
  redis.call('RPOP', KEYS[1])
end
redis.call('PEXPIRE', KEYS[1], string.format('%.0f', at - now + period))
return {at - now, 1}
"""

HOLD = """
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[1]) then
  redis.call('SET', KEYS[1], '', 'PX', ARGV[1])
end
"""


class RedisRateLimit:
    """Implements agents.ports.spending.ModelRateLimit; `paces` are by provider.

    A request waits up to `most_seconds` for its turn, since it would lose its place otherwise, and
    up to `hold_seconds` for a model that is held: the job then rests instead, without a worker.
    A provider without a pace costs an occasional check of the hold, and no round trip per request.
    """

    def __init__(
        self,
        redis: Redis,
        paces: Mapping[str, Pace],
        patience: Patience,
        most_seconds: float,
        hold_seconds: float = 10.0,
    ) -> None:
        self._redis = redis
        self._paces = paces
        self._patience = patience
        self._most_seconds = most_seconds
        self._hold_seconds = hold_seconds
        self._turn = redis.register_script(TURN)
        self._hold = redis.register_script(HOLD)
        self._free: dict[str, float] = {}

    async def wait(self, model: str, tokens: int) -> None:
        """See ModelRateLimit."""
        ends = time.monotonic() + self._most_seconds
        while True:
            seconds = await self._wait_seconds(model, tokens, ends - time.monotonic())
            if seconds == 0.0:
                return
            await asyncio.sleep(seconds)
            # a hold that was set during the pause makes all requests wait again
            if await self._hold_remaining(model) == 0.0:
                return

    async def hold(self, model: str, seconds: float) -> None:
        """See ModelRateLimit."""
        self._free.pop(model, None)
        ms = int(min(seconds, LONGEST_HOLD_SECONDS) * 1000)
        if ms > 0:
            key = keys.hold(model)
            await self._patience.retry(lambda: await_redis(self._hold(keys=[key], args=[ms])))

    async def _wait_seconds(self, model: str, tokens: int, most_seconds: float) -> float:
        """Seconds until the turn of this request. Raises ModelUnavailable."""
        pace = self._paces.get(model.partition(":")[0])
        if pace is None:
            fresh = time.monotonic() < self._free.get(model, 0.0)
            wait = 0.0 if fresh else await self._hold_remaining(model)
            is_granted = wait <= self._hold_seconds
        else:
            wait, is_granted = await self._turn_of(model, pace, tokens, most_seconds)
        if not is_granted or wait > most_seconds:
            raise too_long(model, wait)
        return wait

    async def _turn_of(
        self, model: str, pace: Pace, tokens: int, most_seconds: float
    ) -> tuple[float, bool]:
        names = [keys.slots(model.partition(":")[0]), keys.hold(model)]
        bounds = ["" if bound is None else bound for bound in (pace.requests, pace.tokens)]
        args = [*bounds, pace.period_ms, tokens, int(most_seconds * 1000), pace.slot_ms]
        args.append(int(self._hold_seconds * 1000))
        ms, is_granted = await self._patience.retry(
            lambda: await_redis(self._turn(keys=names, args=args))
        )
        return ms / 1000, bool(is_granted)

    async def _hold_remaining(self, model: str) -> float:
        """The remaining seconds of the hold of a model; 0 if there is no hold."""
        ms: int = await self._patience.retry(
            lambda: await_redis(self._redis.pttl(keys.hold(model)))
        )
        if ms <= 0:
            self._free[model] = time.monotonic() + LOOK_SECONDS
        return max(ms, 0) / 1000

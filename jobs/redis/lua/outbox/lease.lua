-- Leases deliveries that are due: no other worker gets them while the lease runs.
--
-- KEYS[1] waiting (zset, by due time)
-- ARGV[1] limit   ARGV[2] lease_ms   ARGV[3] prefix of a delivery's hash
-- Returns {id, body, tries, error, due_at} for each, in order. The messages of one change became due in the same
-- millisecond. They are leased together, so that one worker sends them in their order: the limit is exceeded if need be.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local last = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now + 0.999, 'WITHSCORES', 'LIMIT', ARGV[1] - 1, 1)[2]
local bound = string.format('%.3f', math.floor(last or now) + 0.999)
local taken = {}
for position, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', bound)) do
  local name = ARGV[3] .. id
  local body = redis.call('HGET', name, 'body')
  if body then
    local till = string.format('%.2f', now + ARGV[2] + math.min(position, 99) / 100)
    redis.call('ZADD', KEYS[1], till, id)
    local tries = redis.call('HINCRBY', name, 'tries', 1)
    taken[#taken + 1] = {id, body, tries, redis.call('HGET', name, 'error') or '', till}
  else
    redis.call('ZREM', KEYS[1], id)
  end
end
return taken

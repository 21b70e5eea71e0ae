-- Leases deliveries that are due: no other worker gets them while the lease runs.
--
-- KEYS[1] waiting (zset, by due time)
-- ARGV[1] limit   ARGV[2] lease_ms   ARGV[3] prefix of a delivery's hash
-- Returns {id, body, tries, error, due_at} for each.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local till = string.format('%.0f', now + ARGV[2])
local taken = {}
for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, ARGV[1])) do
  local name = ARGV[3] .. id
  local body = redis.call('HGET', name, 'body')
  if body then
    redis.call('ZADD', KEYS[1], till, id)
    local tries = redis.call('HINCRBY', name, 'tries', 1)
    taken[#taken + 1] = {id, body, tries, redis.call('HGET', name, 'error') or '', till}
  else
    redis.call('ZREM', KEYS[1], id)
  end
end
return taken

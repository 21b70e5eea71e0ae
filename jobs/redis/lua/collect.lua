-- Takes digests that no job refers to and that were not pinned lately: their bytes may be removed.
--
-- KEYS[1] loose (zset)   KEYS[2] references (hash)   KEYS[3] going (hash)
-- ARGV[1] grace_ms       ARGV[2] limit               ARGV[3] how long the removal may take, ms
--
-- Returns {how many were checked, {digest...}}.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
-- The digests of a remover that died are old enough.
local going = redis.call('HGETALL', KEYS[3])
for i = 1, #going, 2 do
  if tonumber(going[i + 1]) <= now then
    redis.call('HDEL', KEYS[3], going[i])
    redis.call('ZADD', KEYS[1], 0, going[i])
  end
end
local old = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[1], 'LIMIT', 0, ARGV[2])
local taken = {}
for _, digest in ipairs(old) do
  redis.call('ZREM', KEYS[1], digest)
  if not redis.call('HGET', KEYS[2], digest) then
    redis.call('HSET', KEYS[3], digest, string.format('%.0f', now + ARGV[3]))
    taken[#taken + 1] = digest
  end
end
return {#old, taken}

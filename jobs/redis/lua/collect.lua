-- Takes digests that no job refers to and that were not pinned lately. The caller removes their bytes.
--
-- KEYS[1] unreferenced digests (zset)   KEYS[2] references (hash)   KEYS[3] digests that are being removed (hash)
-- ARGV[1] grace_ms       ARGV[2] limit               ARGV[3] how long the removal may take, ms
--
-- Returns {number of checked digests, {digest...}}.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
-- The digests of a worker that died during a removal are old enough to be taken again.
local deleting = redis.call('HGETALL', KEYS[3])
for i = 1, #deleting, 2 do
  if tonumber(deleting[i + 1]) <= now then
    redis.call('HDEL', KEYS[3], deleting[i])
    redis.call('ZADD', KEYS[1], 0, deleting[i])
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

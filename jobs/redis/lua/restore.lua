-- Marks bytes that were not removed as present, in one step, so that a crash loses none.
--
-- KEYS[1] loose (zset)   KEYS[2] going (hash)
-- ARGV    digests
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
for _, digest in ipairs(ARGV) do
  redis.call('HDEL', KEYS[2], digest)
  redis.call('ZADD', KEYS[1], string.format('%.0f', now), digest)
end

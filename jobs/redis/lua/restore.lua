-- Marks bytes that could not be removed as present, in one step, so that a crash loses no digest.
--
-- KEYS[1] unreferenced digests (zset)   KEYS[2] digests that are being removed (hash)
-- ARGV    digests
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
for _, digest in ipairs(ARGV) do
  redis.call('HDEL', KEYS[2], digest)
  redis.call('ZADD', KEYS[1], string.format('%.0f', now), digest)
end

-- Pins digests of bytes that are about to be stored: they are not removed within the grace period.
--
-- KEYS[1] unreferenced digests (zset)   KEYS[2] digests that are being removed (hash)
-- ARGV    digests
--
-- Returns the digests of bytes that are being removed at this moment: pin them again.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local busy = {}
for _, digest in ipairs(ARGV) do
  local ends = redis.call('HGET', KEYS[2], digest)
  if ends and tonumber(ends) > now then
    busy[#busy + 1] = digest
  else
    redis.call('HDEL', KEYS[2], digest)
    redis.call('ZADD', KEYS[1], string.format('%.0f', now), digest)
  end
end
return busy

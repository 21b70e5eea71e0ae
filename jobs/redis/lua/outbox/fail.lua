-- Handles a delivery that did not arrive: it is tried again later, or it is dead.
--
-- KEYS[1] waiting (zset)   KEYS[2] dead (zset, by the last try)   KEYS[3] the delivery (hash)
-- ARGV[1] id   ARGV[2] tries, as it was leased   ARGV[3] error   ARGV[4] delay in ms ('': the delivery is dead)
-- ARGV[5] the number of dead deliveries that are kept   ARGV[6] prefix of a delivery's hash
-- Returns 1; 0 if another worker has leased it since, or if it has arrived.
if redis.call('HGET', KEYS[3], 'tries') ~= ARGV[2] then return 0 end
if not redis.call('ZSCORE', KEYS[1], ARGV[1]) then return 0 end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('HSET', KEYS[3], 'error', ARGV[3])
if ARGV[4] ~= '' then
  redis.call('ZADD', KEYS[1], string.format('%.0f', now + ARGV[4]), ARGV[1])
  return 1
end
redis.call('ZREM', KEYS[1], ARGV[1])
redis.call('ZADD', KEYS[2], string.format('%.0f', now), ARGV[1])
local excess = redis.call('ZCARD', KEYS[2]) - ARGV[5]
if excess > 0 then
  for _, id in ipairs(redis.call('ZRANGE', KEYS[2], 0, excess - 1)) do
    redis.call('ZREM', KEYS[2], id)
    redis.call('UNLINK', ARGV[6] .. id)
  end
end
return 1

-- Makes a dead delivery wait again: due at once, with no tries.
--
-- KEYS[1] waiting (zset)   KEYS[2] dead (zset)   KEYS[3] the delivery (hash)
-- ARGV[1] id
-- Returns 1; 0 if it is not dead.
if not redis.call('ZSCORE', KEYS[2], ARGV[1]) then return 0 end
redis.call('HSET', KEYS[3], 'tries', 0)
local time = redis.call('TIME')
redis.call('ZADD', KEYS[1], string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000)), ARGV[1])
redis.call('ZREM', KEYS[2], ARGV[1])
return 1

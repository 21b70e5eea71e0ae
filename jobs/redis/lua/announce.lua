-- Stores what a worker announces, until it expires. Returns 1 where the worker is asked to drain.
--
-- KEYS[1] the worker (string)   KEYS[2] when each was seen (zset)   KEYS[3] its drain
-- ARGV[1] body   ARGV[2] seconds   ARGV[3] worker   ARGV[4] now, ms   ARGV[5] forgotten before, ms
redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[2])
redis.call('ZADD', KEYS[2], ARGV[4], ARGV[3])
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', ARGV[5])
return redis.call('EXISTS', KEYS[3])

-- Stores a worker's announcement until it expires. Returns 1 if a drain of the worker was requested.
--
-- KEYS[1] the worker (string)   KEYS[2] workers by their last announcement (zset)   KEYS[3] the request to drain
-- ARGV[1] body   ARGV[2] seconds   ARGV[3] worker   ARGV[4] now (ms)
-- ARGV[5] workers that were seen last before this time (ms) are forgotten
redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[2])
redis.call('ZADD', KEYS[2], ARGV[4], ARGV[3])
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', ARGV[5])
return redis.call('EXISTS', KEYS[3])

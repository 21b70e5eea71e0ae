-- Lists a job as ready: after its tenant's others, and the tenant among those in turn.
--
-- KEYS[1] tenants in turn (list)   KEYS[2] the tenant's jobs, by the time of their hints (zset)
-- ARGV[1] tenant   ARGV[2] job   ARGV[3] the most that one tenant may have here
local many = redis.call('ZCARD', KEYS[2])
if many >= tonumber(ARGV[3]) then return end
local time = redis.call('TIME')
redis.call('ZADD', KEYS[2], 'NX', string.format('%.0f', time[1] * 1000000 + time[2]), ARGV[2])
if many == 0 then redis.call('RPUSH', KEYS[1], ARGV[1]) end

-- Adds a job to the ready index, after the other jobs of its tenant. A tenant without a job gets the last turn.
--
-- KEYS[1] tenants in the order of their turns (list)   KEYS[2] the tenant's jobs, by the time of their hints (zset)
-- ARGV[1] tenant   ARGV[2] job id   ARGV[3] the index lists at most this number of jobs of one tenant
local listed = redis.call('ZCARD', KEYS[2])
if listed >= tonumber(ARGV[3]) then return end
local time = redis.call('TIME')
redis.call('ZADD', KEYS[2], 'NX', string.format('%.0f', time[1] * 1000000 + time[2]), ARGV[2])
if listed == 0 then redis.call('RPUSH', KEYS[1], ARGV[1]) end

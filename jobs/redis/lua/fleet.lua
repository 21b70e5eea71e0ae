-- Replaces the version of the fleet's record that the caller has read.
--
-- KEYS[1] the record (JSON string)   ARGV[1] that version (0: no record)   ARGV[2] the new record
-- KEYS[2] pending entries of the operator's audit log (list)   KEYS[3] the tenants that have a log (set)
-- ARGV[3] the operator's tenant   ARGV[4] the entry
-- Returns 1; 0 if the record has another version.
local now = redis.call('GET', KEYS[1])
local version = 0
if now then version = cjson.decode(now).version end
if version ~= tonumber(ARGV[1]) then return 0 end
redis.call('SET', KEYS[1], ARGV[2])
local time = redis.call('TIME')
redis.call('RPUSH', KEYS[2], string.format('%.0f ', time[1] * 1000 + math.floor(time[2] / 1000)) .. ARGV[4])
redis.call('SADD', KEYS[3], ARGV[3])
return 1

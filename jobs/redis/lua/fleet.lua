-- Replaces the version of the fleet's record that the caller has read.
--
-- KEYS[1] the record (JSON string)   ARGV[1] that version (0: no record)   ARGV[2] the new record
-- Returns 1; 0 if the record has another version.
local now = redis.call('GET', KEYS[1])
local version = 0
if now then version = cjson.decode(now).version end
if version ~= tonumber(ARGV[1]) then return 0 end
redis.call('SET', KEYS[1], ARGV[2])
return 1

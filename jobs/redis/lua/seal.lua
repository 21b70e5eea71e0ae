-- Moves the oldest pending entries of a tenant into its audit log, in one step.
--
-- KEYS[1] pending entries (list)   KEYS[2] sealed entries (zset, by number)   KEYS[3] the head (hash)
-- ARGV[1] number of the head that the caller has read (0: no head)   ARGV[2] hash of the last new entry
-- ARGV[3...] the sealed lines of the first pending entries
--
-- Only this script removes pending entries, and it moves the head. If the head is the same, the first pending
-- entries are the same, too.
--
-- Returns 1; 0 if the head has moved: another sealer came first.
if (redis.call('HGET', KEYS[3], 'seq') or '0') ~= ARGV[1] then return 0 end
local count = #ARGV - 2
for i = 1, count do
  redis.call('ZADD', KEYS[2], ARGV[1] + i, ARGV[i + 2])
end
redis.call('HSET', KEYS[3], 'seq', string.format('%.0f', ARGV[1] + count), 'hash', ARGV[2])
redis.call('LTRIM', KEYS[1], count, -1)
return 1

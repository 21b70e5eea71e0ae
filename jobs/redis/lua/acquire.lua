-- Acquires a lock that no other worker holds.
--
-- KEYS[1] the lock (string that expires)   ARGV[1] ms
-- Returns 1; 0 if another worker holds the lock.
if redis.call('SET', KEYS[1], '', 'NX', 'PX', ARGV[1]) then return 1 end
return 0

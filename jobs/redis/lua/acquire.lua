-- Takes a lock, unless another has it.
--
-- KEYS[1] the lock (string that expires)   ARGV[1] ms
-- Returns 1; 0 where it is held.
if redis.call('SET', KEYS[1], '', 'NX', 'PX', ARGV[1]) then return 1 end
return 0

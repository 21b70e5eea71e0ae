-- The first jobs of an index, by when they are due. An entry without a record is removed: it would
-- stay before the others for ever.
--
-- KEYS[1] the index (zset)
-- ARGV[1] the most that their time may be   ARGV[2] limit   ARGV[3] prefix of job keys
-- Returns {id...}; fewer where very many had none, to bound how long it blocks Redis.
local found
for _ = 1, 10 do
  found = {}
  local ids = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, ARGV[2])
  for _, id in ipairs(ids) do
    if redis.call('EXISTS', ARGV[3] .. id) == 1 then
      found[#found + 1] = id
    else
      redis.call('ZREM', KEYS[1], id)
    end
  end
  if #found == #ids then break end
end
return found

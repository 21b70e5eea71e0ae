-- The first jobs of an index, by score. An entry without a record is removed, because it would stay
-- at the beginning of the index for ever.
--
-- KEYS[1] the index (zset)
-- ARGV[1] the highest score   ARGV[2] limit   ARGV[3] prefix of job keys
-- Returns {id...}; fewer than `limit` if many entries have no record, to bound how long this blocks Redis.
local job_ids
for _ = 1, 10 do
  job_ids = {}
  local ids = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, ARGV[2])
  for _, id in ipairs(ids) do
    if redis.call('EXISTS', ARGV[3] .. id) == 1 then
      job_ids[#job_ids + 1] = id
    else
      redis.call('ZREM', KEYS[1], id)
    end
  end
  if #job_ids == #ids then break end
end
return job_ids

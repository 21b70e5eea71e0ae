-- Takes the next job from the ready index: the oldest job of the tenant whose turn it is.
--
-- KEYS[1] tenants in the order of their turns (list)   ARGV[1] prefix of the keys of their jobs (zsets)
-- Returns {job id}, or {} if no job is listed.
while true do
  local tenant = redis.call('LPOP', KEYS[1])
  if not tenant then return {} end
  local key = ARGV[1] .. tenant
  local job = redis.call('ZPOPMIN', key)[1]
  if job then
    if redis.call('EXISTS', key) == 1 then redis.call('RPUSH', KEYS[1], tenant) end
    return {job}
  end
end

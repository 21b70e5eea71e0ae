-- Takes the job whose turn it is: the oldest hint of the tenant that was served the longest ago.
--
-- KEYS[1] tenants in turn (list)   ARGV[1] prefix of their jobs (zset)
-- Returns {job}, or {} where none is ready.
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

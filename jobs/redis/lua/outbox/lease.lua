-- Leases deliveries that are due: no other worker gets them while the lease runs.
--
-- KEYS[1] waiting (zset, by due time)
-- ARGV[1] free slots of the worker   ARGV[2] lease_ms   ARGV[3] prefix of a delivery's hash
-- ARGV[4] the deliveries under way in the worker, by tenant (JSON object)   ARGV[5] how many deliveries are looked at
-- Returns {id, body, tries, error, due_at} for each, in order. A delivery is leased if its tenant has fewer
-- deliveries under way than slots are free. The messages of one change, which became due in the same millisecond, are
-- leased together, so that one worker sends them in their order: the slots are exceeded if need be.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local free, under_way = tonumber(ARGV[1]), cjson.decode(ARGV[4])
local last = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now + 0.999, 'WITHSCORES', 'LIMIT', ARGV[5] - 1, 1)[2]
local bound = string.format('%.3f', math.floor(last or now) + 0.999)
local taken, last_change = {}, {}
for position, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', bound)) do
  local name = ARGV[3] .. id
  local body = redis.call('HGET', name, 'body')
  if body then
    local _, tenant, job, at = unpack(cjson.decode(body))
    local count, change = under_way[tenant] or 0, tostring(job) .. ' ' .. tostring(at)
    if count < free or last_change[tenant] == change then
      free, under_way[tenant], last_change[tenant] = free - 1, count + 1, change
      local till = string.format('%.2f', now + ARGV[2] + math.min(#taken + 1, 99) / 100)
      redis.call('ZADD', KEYS[1], till, id)
      local tries = redis.call('HINCRBY', name, 'tries', 1)
      taken[#taken + 1] = {id, body, tries, redis.call('HGET', name, 'error') or '', till}
    elseif last then -- other deliveries may be due that were not looked at: they are first next time
      redis.call('ZADD', KEYS[1], string.format('%.3f', now + position / 1000), id)
    end
  else
    redis.call('ZREM', KEYS[1], id)
  end
end
return taken

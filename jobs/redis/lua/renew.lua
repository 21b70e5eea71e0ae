-- Extends all leases of a process in one step.
--
-- KEYS[1] the due index
-- ARGV[1] prefix of job keys, ARGV[2] lease in ms, then pairs: job id, epoch
-- Returns the positions, from 0, of lost leases: the job has another epoch, does not run, or has run longer
-- than it may (`ends_by`). The sweeper ends a job if its worker does not enforce the deadline.
local time = redis.call('TIME')
local until_ms = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[2])
local lost = {}
for i = 3, #ARGV, 2 do
  local key = ARGV[1] .. ARGV[i]
  local state = redis.call('HMGET', key, 'status', 'epoch', 'due_at', 'ends_by')
  local overdue = (tonumber(state[4] or '') or math.huge) < tonumber(state[3] or '0')
  if state[1] == 'running' and state[2] == ARGV[i + 1] and not overdue then
    redis.call('HSET', key, 'due_at', until_ms)
    redis.call('ZADD', KEYS[1], until_ms, ARGV[i])
  else
    lost[#lost + 1] = (i - 3) / 2
  end
end
return lost

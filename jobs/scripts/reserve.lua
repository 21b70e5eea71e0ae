-- Set aside what a model call can cost at most, where the budgets allow it: both, or neither.
--
-- KEYS[1] the job's record (hash)   KEYS[2] the job's account (hash)
-- ARGV[1] epoch     ARGV[2] name of the reservation
-- ARGV[3] cost, ARGV[4] tokens: at most   ARGV[5], ARGV[6] the job's caps of both ('': none)
-- ARGV[7] prefix of the key's accounts ('': none)   ARGV[8], ARGV[9] the key's caps for a day
-- ARGV[10] how long the account of a day is kept, s
--
-- Accounts are hashes: cost and tokens, spent or set aside, and of these open_cost and open_tokens
-- that are not settled; in a job's, open:RESERVATION too: cost, tokens and the account of the day.
--
-- Returns {} where it is granted, {'stale'}, or {'job' or 'key', 'cost' or 'tokens', used, open}.
local state = redis.call('HMGET', KEYS[1], 'status', 'epoch')
if state[1] ~= 'running' or state[2] ~= ARGV[1] then return {'stale'} end
if redis.call('HEXISTS', KEYS[2], 'open:' .. ARGV[2]) == 1 then return {} end

local function short(account, whose, most_cost, most_tokens)
  local is = redis.call('HMGET', account, 'cost', 'tokens', 'open_cost', 'open_tokens')
  if most_cost ~= '' and (is[1] or 0) + ARGV[3] > tonumber(most_cost) then
    return {whose, 'cost', is[1] or '0', is[3] or '0'}
  end
  if most_tokens ~= '' and (is[2] or 0) + ARGV[4] > tonumber(most_tokens) then
    return {whose, 'tokens', is[2] or '0', is[4] or '0'}
  end
end

local day = ''
if ARGV[7] ~= '' then
  day = ARGV[7] .. math.floor(redis.call('TIME')[1] / 86400)
end
local why = short(KEYS[2], 'job', ARGV[5], ARGV[6])
if not why and day ~= '' then why = short(day, 'key', ARGV[8], ARGV[9]) end
if why then return why end

local function add(account)
  redis.call('HINCRBY', account, 'cost', ARGV[3])
  redis.call('HINCRBY', account, 'tokens', ARGV[4])
  redis.call('HINCRBY', account, 'open_cost', ARGV[3])
  redis.call('HINCRBY', account, 'open_tokens', ARGV[4])
end
add(KEYS[2])
redis.call('HSET', KEYS[2], 'open:' .. ARGV[2], ARGV[3] .. ' ' .. ARGV[4] .. ' ' .. day)
if day ~= '' then
  add(day)
  redis.call('EXPIRE', day, ARGV[10])
end
return {}

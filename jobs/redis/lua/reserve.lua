-- Reserves the most that a model call can cost, where the budgets allow it: in all accounts, or none.
--
-- KEYS[1] the job's record (hash)   KEYS[2] the job's account (hash)
-- ARGV[1] epoch     ARGV[2] name of the reservation
-- ARGV[3] cost, ARGV[4] tokens: at most   ARGV[5], ARGV[6] the job's caps of both ('': none)
-- ARGV[7] how long the account of a day is kept, s
-- then of each day that it counts for: whose it is ('key', 'tenant'), the prefix of its accounts,
-- and its caps of both
--
-- Accounts are hashes: cost and tokens, spent or reserved, and of these open_cost and open_tokens
-- that are not settled; in a job's, open:RESERVATION too: cost, tokens and the accounts of the day.
--
-- Returns {} where it is granted, {'stale'}, or {'job' or whose day, 'cost' or 'tokens', used, open}.
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

local today = math.floor(redis.call('TIME')[1] / 86400)
local why, days = short(KEYS[2], 'job', ARGV[5], ARGV[6]), {}
for i = 8, #ARGV, 4 do
  days[#days + 1] = ARGV[i + 1] .. today
  why = why or short(days[#days], ARGV[i], ARGV[i + 2], ARGV[i + 3])
end
if why then return why end

local function add(account)
  redis.call('HINCRBY', account, 'cost', ARGV[3])
  redis.call('HINCRBY', account, 'tokens', ARGV[4])
  redis.call('HINCRBY', account, 'open_cost', ARGV[3])
  redis.call('HINCRBY', account, 'open_tokens', ARGV[4])
end
add(KEYS[2])
redis.call('HSET', KEYS[2], 'open:' .. ARGV[2], table.concat({ARGV[3], ARGV[4], unpack(days)}, ' '))
for _, day in ipairs(days) do
  add(day)
  redis.call('EXPIRE', day, ARGV[7])
end
return {}

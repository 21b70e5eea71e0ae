-- Reserves the highest possible cost of a model call in all accounts, if all budgets allow it.
--
-- KEYS[1] the job's record (hash)   KEYS[2] the job's account (hash)
-- ARGV[1] epoch     ARGV[2] name of the reservation
-- ARGV[3] highest cost, ARGV[4] highest tokens   ARGV[5], ARGV[6] the job's caps of both ('': no cap)
-- ARGV[7] how long the account of a day is kept (s)
-- then for each account of the day: its owner ('key' or 'tenant'), the prefix of its key, and its caps of both
--
-- Accounts are hashes. `cost` and `tokens` are spent or reserved; `open_cost` and `open_tokens` are the parts of
-- them that are reserved and not settled. A job's account also has open:RESERVATION for each open reservation:
-- its cost, its tokens and the accounts of the day.
--
-- Returns {} if the amount is reserved, {'stale'}, or of the account that has too little:
-- {'job', 'key' or 'tenant', 'cost' or 'tokens', used, open}.
local state = redis.call('HMGET', KEYS[1], 'status', 'epoch')
if state[1] ~= 'running' or state[2] ~= ARGV[1] then return {'stale'} end
if redis.call('HEXISTS', KEYS[2], 'open:' .. ARGV[2]) == 1 then return {} end

local function shortfall(account, owner, cost_cap, tokens_cap)
  local used = redis.call('HMGET', account, 'cost', 'tokens', 'open_cost', 'open_tokens')
  if cost_cap ~= '' and (used[1] or 0) + ARGV[3] > tonumber(cost_cap) then
    return {owner, 'cost', used[1] or '0', used[3] or '0'}
  end
  if tokens_cap ~= '' and (used[2] or 0) + ARGV[4] > tonumber(tokens_cap) then
    return {owner, 'tokens', used[2] or '0', used[4] or '0'}
  end
end

local today = math.floor(redis.call('TIME')[1] / 86400)
local refusal, days = shortfall(KEYS[2], 'job', ARGV[5], ARGV[6]), {}
for i = 8, #ARGV, 4 do
  days[#days + 1] = ARGV[i + 1] .. today
  refusal = refusal or shortfall(days[#days], ARGV[i], ARGV[i + 2], ARGV[i + 3])
end
if refusal then return refusal end

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

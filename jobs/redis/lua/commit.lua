-- Compares, then writes: the one atomic step that makes every write to a job.
--
-- KEYS[1] events of the job (list)      KEYS[2] keys of those events (set)
-- ARGV    guards: n, then n of  kind, key, field, value
--           field   HGET key field == value ('' for a missing one)
--           size    HLEN key == value
--           absent  key does not exist
--           head    the list is empty or begins with value
--         events: channel, n, then n of  key, body
--         commands: n, then n of  argc, arg...
--
-- Returns {1, now_ms, last_seq} or {0, index of the guard that failed}.
-- Commands may name other keys: Redis Cluster is refused at start-up.
--
-- Nine commands are Fettle's. ENTER line member due prefix behind counts priority later: the member is put
-- at the end of the line; where it is not the head, it is `behind`, counted so, and not due before `later`.
-- ADVANCE line member due prefix behind counts: the member leaves the line; where it was the head, the
-- next one, if it waits in the index `due`, is due now. `prefix` is that of job keys.
-- REFER set references loose digest...: the job refers to these bytes from now on.
-- INHERIT set references loose other: the job refers to what another refers to.
-- LETGO set references loose: it refers to none; bytes without a reference are loose from now on.
-- UNWORD set words word member: the member leaves the set; an empty one's word leaves the words.
-- NOTE set list job key: the number of that new event is noted in both, as job:number.
-- FORGET checkpoints thread most: so many (unpack takes some 8,000) checkpoints of the thread go, and
-- a namespace's values with its last: see worker.checkpoints for the layout.
-- SETTLE account reservation cost tokens: the reservation becomes what was spent; '': the same.
local function enter(line, member, due, prefix, behind, counts, priority, later)
  if redis.call('RPUSH', line, member) == 1 then return end
  redis.call('HSET', behind, member, priority)
  redis.call('HINCRBY', counts, 'behind:' .. priority, 1)
  redis.call('ZADD', due, later, member)
  redis.call('HSET', prefix .. member, 'due_at', later)
end

local function no_more_behind(member, behind, counts)
  local priority = redis.call('HGET', behind, member)
  if not priority then return end
  redis.call('HDEL', behind, member)
  redis.call('HINCRBY', counts, 'behind:' .. priority, -1)
end

local function advance(line, member, due, prefix, behind, counts, now)
  local first = redis.call('LINDEX', line, 0) == member
  redis.call('LREM', line, 1, member)
  no_more_behind(member, behind, counts)
  local head = first and redis.call('LINDEX', line, 0)
  if head then no_more_behind(head, behind, counts) end
  if head and redis.call('ZSCORE', due, head) then
    now = string.format('%.0f', now)
    redis.call('ZADD', due, now, head)
    redis.call('HSET', prefix .. head, 'due_at', now)
  end
end

local function refer(set, references, loose, digests)
  for _, digest in ipairs(digests) do
    if redis.call('SADD', set, digest) == 1 then
      redis.call('HINCRBY', references, digest, 1)
    end
    redis.call('ZREM', loose, digest)
  end
end

local function let_go(set, references, loose, now)
  for _, digest in ipairs(redis.call('SMEMBERS', set)) do
    if redis.call('HINCRBY', references, digest, -1) <= 0 then
      redis.call('HDEL', references, digest)
      redis.call('ZADD', loose, string.format('%.0f', now), digest)
    end
  end
  redis.call('UNLINK', set)
end

local function forget(checkpoints, thread, most)
  local index = checkpoints .. ':' .. thread
  local namespaces, going = {}, {}
  for _, name in ipairs(redis.call('ZREVRANGE', index, 0, most - 1)) do
    going[#going + 1] = index .. ':' .. name
    namespaces[string.match(name, '^[^:]*')] = true
  end
  if #going > 0 then redis.call('UNLINK', unpack(going)) end
  redis.call('ZREMRANGEBYRANK', index, -most, -1)
  for namespace in pairs(namespaces) do
    if redis.call('ZLEXCOUNT', index, '[' .. namespace .. ':', '(' .. namespace .. ':\255') == 0 then
      redis.call('UNLINK', index .. ':' .. namespace)
    end
  end
end

local function settle(account, reservation, cost, tokens)
  local made = redis.call('HGET', account, 'open:' .. reservation)
  if not made then return end
  redis.call('HDEL', account, 'open:' .. reservation)
  local most_cost, most_tokens, days = string.match(made, '^(%d+) (%d+) ?(.*)$')
  local function correct(whose, what, most, spent)
    local back = most == '0' and '0' or '-' .. most -- '-0' is no integer to Redis
    redis.call('HINCRBY', whose, 'open_' .. what, back)
    if spent ~= '' then
      redis.call('HINCRBY', whose, what, spent)
      redis.call('HINCRBY', whose, what, back)
    end
  end
  for whose in string.gmatch(account .. ' ' .. days, '%S+') do
    if redis.call('EXISTS', whose) == 1 then
      correct(whose, 'cost', most_cost, cost)
      correct(whose, 'tokens', most_tokens, tokens)
    end
  end
end

local at = 0
local function take() at = at + 1; return ARGV[at] end

for i = 1, tonumber(take()) do
  local kind, key, field, value = take(), take(), take(), take()
  local holds
  if kind == 'field' then
    holds = (redis.call('HGET', key, field) or '') == value
  elseif kind == 'size' then
    holds = redis.call('HLEN', key) == tonumber(value)
  elseif kind == 'absent' then
    holds = redis.call('EXISTS', key) == 0
  else
    local head = redis.call('LINDEX', key, 0)
    holds = (not head) or head == value
  end
  if not holds then return {0, i} end
end

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local channel, seq, fresh, numbers = take(), 0, {}, {}
for _ = 1, tonumber(take()) do
  local key, body = take(), take()
  if redis.call('SADD', KEYS[2], key) == 1 then
    fresh[#fresh + 1] = string.format('%.0f ', now) .. body
    seq = redis.call('RPUSH', KEYS[1], fresh[#fresh])
    numbers[key] = seq
  end
end

for _ = 1, tonumber(take()) do
  local command = {}
  for i = 1, tonumber(take()) do command[i] = take() end
  if command[1] == 'ADVANCE' then
    advance(command[2], command[3], command[4], command[5], command[6], command[7], now)
  elseif command[1] == 'ENTER' then
    enter(unpack(command, 2))
  elseif command[1] == 'REFER' then
    refer(command[2], command[3], command[4], {unpack(command, 5)})
  elseif command[1] == 'INHERIT' then
    refer(command[2], command[3], command[4], redis.call('SMEMBERS', command[5]))
  elseif command[1] == 'LETGO' then
    let_go(command[2], command[3], command[4], now)
  elseif command[1] == 'UNWORD' then
    redis.call('ZREM', command[2], command[5])
    if redis.call('EXISTS', command[2]) == 0 then redis.call('ZREM', command[3], command[4]) end
  elseif command[1] == 'NOTE' then
    local number = numbers[command[5]]
    if number then
      local place = command[4] .. ':' .. number
      redis.call('ZADD', command[2], string.format('%.0f', now), place)
      redis.call('RPUSH', command[3], place)
    end
  elseif command[1] == 'FORGET' then
    forget(command[2], command[3], tonumber(command[4]))
  elseif command[1] == 'SETTLE' then
    settle(command[2], command[3], command[4], command[5])
  else
    redis.call(unpack(command))
  end
end

if seq > 0 then
  redis.call('PUBLISH', channel, seq - #fresh + 1 .. '\n' .. table.concat(fresh, '\n'))
end
return {1, now, seq}

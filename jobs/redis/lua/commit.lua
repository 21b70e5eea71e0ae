-- The one atomic step that makes every write to a job, and every write to the audit log: compare, then write.
--
-- KEYS[1] the job's events (list)   KEYS[2] the keys of those events (set); no keys: the step has no events
-- ARGV    guards:   count, then of each guard:   kind, key, field, value
--         events:   channel, count, then of each event:   event key, body
--         commands: count, then of each command: number of words, name, argument...
--
-- A guard compares, by its kind:
--   field    the hash `key` has `value` in `field` ('' also matches a missing field)
--   size     the hash `key` has `value` fields
--   absent   `key` does not exist
--   head     the list `key` is empty, or `value` is its first element
--
-- Commands are those of REDIS_COMMANDS and COMMANDS below. They may name keys that are not in KEYS, because
-- Fettle refuses Redis Cluster at start-up.
--
-- Returns {1, now in ms, number of the last new event (0: no new event)}, or {0, index of the first guard that
-- does not hold}. A command with another name is an error, which is raised before the first write.

-- Commands of Redis that a step may contain.
local REDIS_COMMANDS = {
  COPY = true, EXPIRE = true, HDEL = true, HINCRBY = true, HSET = true, HSETNX = true, LPUSH = true, LREM = true,
  LSET = true, LTRIM = true, PUBLISH = true, RPUSH = true, SADD = true, UNLINK = true, ZADD = true, ZREM = true,
  ZREMRANGEBYSCORE = true,
}

-- Fettle's commands, by name. Each gets `step`, {now = ms, event_numbers = {event key = number}}, and then the
-- arguments of the command.
local COMMANDS = {}

local function as_integer(number)
  return string.format('%.0f', number)
end

-- The job waits for no other job of its conversation any more. Returns its priority; nil if it did not wait.
local function stop_waiting_in_line(job, behind, counts)
  local priority = redis.call('HGET', behind, job)
  if not priority then return end
  redis.call('HDEL', behind, job)
  redis.call('HINCRBY', counts, 'behind:' .. priority, -1)
  return priority
end

-- Put a new job at the end of its conversation's line. If it is not the first, it waits: it is counted as
-- `behind`, is not in the queue, and is not due before `later`.
function COMMANDS.JOIN_LINE(
  _step,
  line,      -- list: the conversation's jobs that are not final, in order
  job,       -- id of the job
  due,       -- zset: jobs by when the sweeper looks at them
  prefix,    -- of the keys of all job records
  behind,    -- hash: the tenant's jobs that wait in a line, with their priority
  counts,    -- hash: jobs by status, priority and waiting in line
  queues,    -- prefix of the zsets of the tenant's jobs that wait for a worker; the priority follows
  priority,  -- of the job
  later      -- ms: when the sweeper looks at a job that waits in a line
)
  if redis.call('RPUSH', line, job) == 1 then return end
  redis.call('HSET', behind, job, priority)
  redis.call('HINCRBY', counts, 'behind:' .. priority, 1)
  redis.call('ZREM', queues .. priority, job)
  redis.call('ZADD', due, later, job)
  redis.call('HSET', prefix .. job, 'due_at', later)
end

-- Take a final job out of its line. If it was the first, the next job is in the queue and due now.
function COMMANDS.LEAVE_LINE(
  step,
  line,      -- this and the next six as for JOIN_LINE
  job,
  due,
  prefix,
  behind,
  counts,
  queues
)
  local was_first = redis.call('LINDEX', line, 0) == job
  redis.call('LREM', line, 1, job)
  stop_waiting_in_line(job, behind, counts)
  local next_job = was_first and redis.call('LINDEX', line, 0)
  if not next_job then return end
  local priority = stop_waiting_in_line(next_job, behind, counts)
  if priority then
    local state = cjson.decode(redis.call('HGET', prefix .. next_job, 'state'))
    redis.call('ZADD', queues .. priority, as_integer(state.created_at), next_job)
  end
  if redis.call('ZSCORE', due, next_job) then
    redis.call('ZADD', due, as_integer(step.now), next_job)
    redis.call('HSET', prefix .. next_job, 'due_at', as_integer(step.now))
  end
end

local function add_references(job_blobs, references, unreferenced, digests)
  for _, digest in ipairs(digests) do
    if redis.call('SADD', job_blobs, digest) == 1 then
      redis.call('HINCRBY', references, digest, 1)
    end
    redis.call('ZREM', unreferenced, digest)
  end
end

-- The job refers to these bytes from now on.
function COMMANDS.ADD_BLOBS(
  _step,
  job_blobs,     -- set: digests of the bytes that the job refers to
  references,    -- hash: number of jobs that refer to a digest
  unreferenced,  -- zset: digests without a reference, by when they lost it (ms)
  ...            -- digests
)
  add_references(job_blobs, references, unreferenced, {...})
end

-- The job refers to all bytes that its parent refers to.
function COMMANDS.INHERIT_BLOBS(
  _step,
  job_blobs,     -- this and the next two as for ADD_BLOBS
  references,
  unreferenced,
  parent_blobs   -- set: digests of the bytes that the parent refers to
)
  add_references(job_blobs, references, unreferenced, redis.call('SMEMBERS', parent_blobs))
end

-- The job refers to no bytes any more. Bytes without another reference may be removed after the grace period.
function COMMANDS.RELEASE_BLOBS(
  step,
  job_blobs,     -- this and the next two as for ADD_BLOBS
  references,
  unreferenced
)
  for _, digest in ipairs(redis.call('SMEMBERS', job_blobs)) do
    if redis.call('HINCRBY', references, digest, -1) <= 0 then
      redis.call('HDEL', references, digest)
      redis.call('ZADD', unreferenced, as_integer(step.now), digest)
    end
  end
  redis.call('UNLINK', job_blobs)
end

-- Remove a job from the search index under one word, and the word if no other job has it.
function COMMANDS.REMOVE_WORD(
  _step,
  word_jobs,  -- zset: the jobs that the word finds
  words,      -- zset: all words of the tenant
  word,
  job         -- id of the job
)
  redis.call('ZREM', word_jobs, job)
  if redis.call('EXISTS', word_jobs) == 0 then redis.call('ZREM', words, word) end
end

-- List a new event of this step as a decision, under `job:number`. An event that is on record already has been
-- listed before.
function COMMANDS.LIST_DECISION(
  step,
  decisions,      -- zset: the tenant's decisions, by time (ms)
  job_decisions,  -- list: the decisions of the job, so that they can be removed with it
  job,            -- id of the job
  event_key       -- of the event in this step
)
  local number = step.event_numbers[event_key]
  if not number then return end
  local decision = job .. ':' .. number
  redis.call('ZADD', decisions, as_integer(step.now), decision)
  redis.call('RPUSH', job_decisions, decision)
end

-- Append an entry to the pending entries of a tenant's audit log (jobs.store.audit).
function COMMANDS.AUDIT(
  step,
  pending,  -- list: the tenant's pending entries, as "at body"
  tenants,  -- set: the tenants that have a log
  tenant,
  body      -- of the entry
)
  redis.call('RPUSH', pending, as_integer(step.now) .. ' ' .. body)
  redis.call('SADD', tenants, tenant)
end

-- Remove up to `limit` checkpoints of a thread, the newest first; with the last checkpoint of a namespace also
-- its values. worker/checkpoints/layout.py describes the keys.
function COMMANDS.REMOVE_CHECKPOINTS(
  _step,
  checkpoints,  -- prefix of the keys of all checkpoints
  thread,       -- id of the thread, which is the job's id
  limit         -- at most some 8,000: unpack takes no more
)
  local index = checkpoints .. ':' .. thread
  local checkpoint_keys, namespaces = {}, {}
  for _, name in ipairs(redis.call('ZREVRANGE', index, 0, limit - 1)) do
    checkpoint_keys[#checkpoint_keys + 1] = index .. ':' .. name
    namespaces[string.match(name, '^[^:]*')] = true
  end
  if #checkpoint_keys > 0 then redis.call('UNLINK', unpack(checkpoint_keys)) end
  redis.call('ZREMRANGEBYRANK', index, -limit, -1)
  for namespace in pairs(namespaces) do
    if redis.call('ZLEXCOUNT', index, '[' .. namespace .. ':', '(' .. namespace .. ':\255') == 0 then
      redis.call('UNLINK', index .. ':' .. namespace)
    end
  end
end

-- Replace a reservation by the amount that was spent, in the job's account and in the accounts of its day.
-- lua/reserve.lua describes accounts. A reservation that is settled already stays as it is.
function COMMANDS.SETTLE(
  _step,
  account,      -- hash: the job's account
  reservation,  -- its name
  cost,         -- billionths of a dollar; '' (unknown): the reserved cost counts as spent
  tokens        -- '' (unknown): the reserved tokens count as spent
)
  local reserved = redis.call('HGET', account, 'open:' .. reservation)
  if not reserved then return end
  redis.call('HDEL', account, 'open:' .. reservation)
  local reserved_cost, reserved_tokens, days = string.match(reserved, '^(%d+) (%d+) ?(.*)$')
  local function settle_amount(name, unit, reserved_amount, spent)
    local negative = reserved_amount == '0' and '0' or '-' .. reserved_amount -- Redis refuses '-0'
    redis.call('HINCRBY', name, 'open_' .. unit, negative)
    if spent ~= '' then
      redis.call('HINCRBY', name, unit, spent)
      redis.call('HINCRBY', name, unit, negative)
    end
  end
  for name in string.gmatch(account .. ' ' .. days, '%S+') do
    if redis.call('EXISTS', name) == 1 then -- the account of a day may have expired
      settle_amount(name, 'cost', reserved_cost, cost)
      settle_amount(name, 'tokens', reserved_tokens, tokens)
    end
  end
end

local position = 0
local function next_argument()
  position = position + 1
  return ARGV[position]
end

local function read_guards()
  local guards = {}
  for i = 1, tonumber(next_argument()) do
    local kind, key, field, value = next_argument(), next_argument(), next_argument(), next_argument()
    guards[i] = {kind = kind, key = key, field = field, value = value}
  end
  return guards
end

local function read_events()
  local events = {}
  for i = 1, tonumber(next_argument()) do
    local key, body = next_argument(), next_argument()
    events[i] = {key = key, body = body}
  end
  return events
end

local function read_commands()
  local commands = {}
  for i = 1, tonumber(next_argument()) do
    local command = {}
    for word = 1, tonumber(next_argument()) do command[word] = next_argument() end
    if not (REDIS_COMMANDS[command[1]] or COMMANDS[command[1]]) then
      error('commit.lua has no command ' .. tostring(command[1]))
    end
    commands[i] = command
  end
  return commands
end

local function holds(guard)
  if guard.kind == 'field' then return (redis.call('HGET', guard.key, guard.field) or '') == guard.value end
  if guard.kind == 'size' then return redis.call('HLEN', guard.key) == tonumber(guard.value) end
  if guard.kind == 'absent' then return redis.call('EXISTS', guard.key) == 0 end
  if guard.kind == 'head' then
    local first = redis.call('LINDEX', guard.key, 0)
    return (not first) or first == guard.value
  end
  error('commit.lua has no guard ' .. tostring(guard.kind))
end

local guards = read_guards()
local channel = next_argument()
local events = read_events()
local commands = read_commands()

for i, guard in ipairs(guards) do
  if not holds(guard) then return {0, i} end
end

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

-- Append the events that are not on record yet.
local new_events, event_numbers, last_number = {}, {}, 0
for _, event in ipairs(events) do
  if redis.call('SADD', KEYS[2], event.key) == 1 then
    local stored = as_integer(now) .. ' ' .. event.body
    new_events[#new_events + 1] = stored
    last_number = redis.call('RPUSH', KEYS[1], stored)
    event_numbers[event.key] = last_number
  end
end

local step = {now = now, event_numbers = event_numbers}
for _, command in ipairs(commands) do
  local run = COMMANDS[command[1]]
  if run then
    run(step, unpack(command, 2))
  else
    redis.call(unpack(command))
  end
end

if #new_events > 0 then
  local first_number = last_number - #new_events + 1
  redis.call('PUBLISH', channel, first_number .. '\n' .. table.concat(new_events, '\n'))
end
return {1, now, last_number}

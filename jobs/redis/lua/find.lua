-- The next of the jobs that lie in every one of these groups and in none of those sets. Reads alone.
--
-- It blocks Redis meanwhile: one call makes `looks` lookups at most, and those of one batch beyond. It
-- returns where it stopped, and the next call continues there.
--
-- ARGV[1] newest / oldest first
-- ARGV[2] score and ARGV[3] id of the job to go on from; an empty id: from the start
-- ARGV[4] how many jobs are wanted at most   ARGV[5] looks
--         n, then n groups: m, then m sorted sets, of which a job lies in one at least
--         n, then n sorted sets in which it must not lie
-- All sets are sorted by when a job was made. The smallest group is walked, the others are asked,
-- the smaller first.
--
-- Returns {looks, score and id where it stopped, 1 where there are no more else 0, {id...}}.
local newest, wanted, most = ARGV[1] ~= 'oldest', tonumber(ARGV[4]), tonumber(ARGV[5])
local at = 5
local function take() at = at + 1; return ARGV[at] end
local function take_all()
  local taken = {}
  for i = 1, tonumber(take()) do taken[i] = take() end
  return taken
end

local groups, sets = {}, 0
for i = 1, tonumber(take()) do
  local group = {sets = take_all(), size = 0}
  for _, set in ipairs(group.sets) do group.size = group.size + redis.call('ZCARD', set) end
  groups[i], sets = group, sets + #group.sets
end
local barred = take_all()
table.sort(groups, function(one, other) return one.size < other.size end)
local walked = table.remove(groups, 1).sets
local batch = math.max(16, math.min(256, math.floor(most / (sets + #barred))))
local looks = 0

-- Whether job a comes after job b, each {id, score}.
local function after(a, b)
  if not newest then a, b = b, a end
  if a[2] ~= b[2] then return a[2] < b[2] end
  return a[1] < b[1]
end

-- The next jobs of one set after `from`, and whether there are more.
local function part(set, from)
  local start, found = 0, {}
  if from then
    local score = string.format('%.0f', from[2])
    if newest then start = redis.call('ZCOUNT', set, '(' .. score, '+inf')
    else start = redis.call('ZCOUNT', set, '-inf', '(' .. score) end
  end
  local command = newest and 'ZREVRANGE' or 'ZRANGE'
  while #found == 0 do  -- once, but where a whole batch was made in the millisecond of `from`
    local read = redis.call(command, set, start, start + batch - 1, 'WITHSCORES')
    looks = looks + #read / 2
    for i = 1, #read, 2 do
      local job = {read[i], tonumber(read[i + 1])}
      if not from or after(job, from) then found[#found + 1] = job end
    end
    if #read < 2 * batch then return found, false end
    start = start + batch
  end
  return found, true
end

-- The next jobs of all sets that are walked. After the last of a set that has more, there are gaps.
local function next_batch(from)
  local known, jobs, edge = {}, {}, nil
  for _, set in ipairs(walked) do
    local found, more = part(set, from)
    for _, job in ipairs(found) do
      if not known[job[1]] then jobs[#jobs + 1] = job end
      known[job[1]] = true
    end
    local last = found[#found]
    if more and (not edge or after(edge, last)) then edge = last end
  end
  table.sort(jobs, function(one, other) return after(other, one) end)
  while edge and after(jobs[#jobs], edge) do jobs[#jobs] = nil end
  return jobs, edge ~= nil
end

-- Those of the jobs that lie in one of the sets, as {id = true}.
local function members(among, jobs)
  local inside, rest = {}, {}
  for i, job in ipairs(jobs) do rest[i] = job[1] end
  for _, set in ipairs(among) do
    if #rest == 0 then break end
    looks = looks + #rest
    local scores, missing = redis.call('ZMSCORE', set, unpack(rest)), {}
    for i, id in ipairs(rest) do
      if scores[i] then inside[id] = true else missing[#missing + 1] = id end
    end
    rest = missing
  end
  return inside
end

local function only(jobs, inside, wish)
  local left = {}
  for _, job in ipairs(jobs) do
    if (inside[job[1]] or false) == wish then left[#left + 1] = job end
  end
  return left
end

local from, more, found = nil, true, {}
if ARGV[3] ~= '' then from = {ARGV[3], tonumber(ARGV[2])} end
while more and looks < most and #found < wanted do
  local jobs
  jobs, more = next_batch(from)
  from = jobs[#jobs] or from
  for _, group in ipairs(groups) do jobs = only(jobs, members(group.sets, jobs), true) end
  jobs = only(jobs, members(barred, jobs), false)
  for i, job in ipairs(jobs) do
    if #found == wanted then
      from, more = jobs[i - 1], true
      break
    end
    found[#found + 1] = job[1]
  end
end
local score, id = '0', ''
if from then score, id = string.format('%.0f', from[2]), from[1] end
return {looks, score, id, more and 0 or 1, found}

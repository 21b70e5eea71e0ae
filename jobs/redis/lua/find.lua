-- Finds the next jobs that are in every group and in no excluded set. Only reads.
--
-- A call blocks Redis, so it makes `lookups` lookups at most, and those of one further batch. It returns the
-- position at which it stopped, and the next call continues there.
--
-- ARGV[1] newest / oldest first
-- ARGV[2] score and ARGV[3] id of the job to continue after; an empty score: start at the beginning;
--         an empty id: start with the jobs of this score if the oldest are first, else with the jobs below it
-- ARGV[4] the score at which the search ends: the last score if the newest jobs are first, else the first score
--         that is left out; empty: no end
-- ARGV[5] the highest number of jobs   ARGV[6] the highest number of lookups
--         n, then n groups: m, then m sorted sets; a job must be in at least one of them
--         n, then n excluded sorted sets; a job must be in none of them
--         n, then n sorted sets, or none; a job in the first of them must be in one of the others, too
-- The score of all sets is the creation of a job. The script walks through the smallest group, and looks up
-- its jobs in the other groups, smaller groups first.
--
-- Returns {lookups, score and id of the last job that it visited, 1 if there are no further jobs else 0,
-- {{id, score}...}}.
local newest, limit, max_lookups = ARGV[1] ~= 'oldest', tonumber(ARGV[5]), tonumber(ARGV[6])
local end_score = tonumber(ARGV[4])
local at = 6
local function next_value() at = at + 1; return ARGV[at] end
local function next_list()
  local values = {}
  for i = 1, tonumber(next_value()) do values[i] = next_value() end
  return values
end

local groups, sets = {}, 0
for i = 1, tonumber(next_value()) do
  local group = {sets = next_list(), size = 0}
  for _, set in ipairs(group.sets) do group.size = group.size + redis.call('ZCARD', set) end
  groups[i], sets = group, sets + #group.sets
end
local excluded, named = next_list(), next_list()
table.sort(groups, function(one, other) return one.size < other.size end)
local smallest = table.remove(groups, 1).sets
local batch = math.max(16, math.min(256, math.floor(max_lookups / (sets + #excluded + #named))))
local lookups = 0

-- Whether job a comes after job b, each {id, score}.
local function after(a, b)
  if not newest then a, b = b, a end
  if a[2] ~= b[2] then return a[2] < b[2] end
  return a[1] < b[1]
end

-- The next jobs of one set after `from`, and whether further jobs follow.
local function part(set, from)
  local start, matches = 0, {}
  if from then
    local score = string.format('%.0f', from[2])
    if newest then start = redis.call('ZCOUNT', set, '(' .. score, '+inf')
    else start = redis.call('ZCOUNT', set, '-inf', '(' .. score) end
  end
  local command = newest and 'ZREVRANGE' or 'ZRANGE'
  while #matches == 0 do  -- more than once only if a full batch has the same score as `from`
    local read = redis.call(command, set, start, start + batch - 1, 'WITHSCORES')
    lookups = lookups + #read / 2
    for i = 1, #read, 2 do
      local job = {read[i], tonumber(read[i + 1])}
      if not from or after(job, from) then matches[#matches + 1] = job end
    end
    if #read < 2 * batch then return matches, false end
    start = start + batch
  end
  return matches, true
end

-- The next jobs of all sets of the smallest group. The batch ends at the first last job of a set with further
-- jobs, because later jobs could be missing.
local function next_batch(from)
  local known, jobs, edge = {}, {}, nil
  for _, set in ipairs(smallest) do
    local matches, more = part(set, from)
    for _, job in ipairs(matches) do
      if not known[job[1]] then jobs[#jobs + 1] = job end
      known[job[1]] = true
    end
    local last = matches[#matches]
    if more and (not edge or after(edge, last)) then edge = last end
  end
  table.sort(jobs, function(one, other) return after(other, one) end)
  while edge and after(jobs[#jobs], edge) do jobs[#jobs] = nil end
  return jobs, edge ~= nil
end

-- The jobs that are in one of the sets, as {id = true}.
local function members(among, jobs)
  local inside, rest = {}, {}
  for i, job in ipairs(jobs) do rest[i] = job[1] end
  for _, set in ipairs(among) do
    if #rest == 0 then break end
    lookups = lookups + #rest
    local scores, missing = redis.call('ZMSCORE', set, unpack(rest)), {}
    for i, id in ipairs(rest) do
      if scores[i] then inside[id] = true else missing[#missing + 1] = id end
    end
    rest = missing
  end
  return inside
end

local function after_end(job)
  if not end_score then return false end
  if newest then return job[2] < end_score end
  return job[2] >= end_score
end

local function only(jobs, inside, expected)
  local remaining = {}
  for _, job in ipairs(jobs) do
    if (inside[job[1]] or false) == expected then remaining[#remaining + 1] = job end
  end
  return remaining
end

local from, more, matches = nil, true, {}
if ARGV[2] ~= '' then from = {ARGV[3], tonumber(ARGV[2])} end
while more and lookups < max_lookups and #matches < limit do
  local jobs
  jobs, more = next_batch(from)
  while #jobs > 0 and after_end(jobs[#jobs]) do jobs[#jobs], more = nil, false end
  from = jobs[#jobs] or from
  for _, group in ipairs(groups) do jobs = only(jobs, members(group.sets, jobs), true) end
  jobs = only(jobs, members(excluded, jobs), false)
  if #named > 0 then
    local barred = members({named[1]}, jobs)
    for id in pairs(members({unpack(named, 2)}, jobs)) do barred[id] = nil end
    jobs = only(jobs, barred, false)
  end
  for i, job in ipairs(jobs) do
    if #matches == limit then
      from, more = jobs[i - 1], true
      break
    end
    matches[#matches + 1] = {job[1], string.format('%.0f', job[2])}
  end
end
local score, id = '0', ''
if from then score, id = string.format('%.0f', from[2]), from[1] end
return {lookups, score, id, more and 0 or 1, matches}

-- A page of the jobs that lie in every one of these sets and in none of those. Reads alone.
--
-- ARGV[1] offset   ARGV[2] limit   ARGV[3] newest / oldest first
--         n, then n groups: m, then m sorted sets, of which a job lies in one at least
--         n, then n sorted sets in which it must not lie
--         how many jobs are walked at most; how often a set is asked for one at most
-- All of them are sorted by when a job was made. The smallest group is walked, the others are asked.
-- Redis does nothing else meanwhile, hence the bounds.
--
-- Returns {how many there are, or as many as were found within the bounds, {id...}}.
local at = 3
local function take() at = at + 1; return ARGV[at] end
local function take_all()
  local taken = {}
  for i = 1, tonumber(take()) do taken[i] = take() end
  return taken
end

local groups, smallest, least = {}, nil, nil
for i = 1, tonumber(take()) do
  local group = {sets = take_all()}
  local size = 0
  for _, set in ipairs(group.sets) do size = size + redis.call('ZCARD', set) end
  groups[i] = group
  if not least or size < least then smallest, least = i, size end
end
local barred = take_all()

local most, looks = tonumber(take()), tonumber(take())
local function within(set, id)
  looks = looks - 1
  return redis.call('ZSCORE', set, id)
end

local function has(group, id)
  for _, set in ipairs(group.sets) do
    if within(set, id) then return true end
  end
  return false
end

local function matches(id)
  for i, group in ipairs(groups) do
    if i ~= smallest and not has(group, id) then return false end
  end
  for _, set in ipairs(barred) do
    if within(set, id) then return false end
  end
  return true
end

-- The walk begins at the end that is asked for, and is no longer than `most`. Of several sets each
-- gives its share; behind the point where the first share ends, the others' order has gaps.
local newest = ARGV[3] ~= 'oldest'
local driver, ids = groups[smallest].sets, {}
local share = math.floor(most / #driver)
local function part(set, ...)
  if newest then return redis.call('ZREVRANGE', set, 0, share - 1, ...) end
  return redis.call('ZRANGE', set, 0, share - 1, ...)
end
if #driver == 1 then
  ids = part(driver[1])
else
  local scores, edge = {}, nil
  for _, set in ipairs(driver) do
    local found = part(set, 'WITHSCORES')
    for i = 1, #found, 2 do
      if not scores[found[i]] then ids[#ids + 1] = found[i] end
      scores[found[i]] = tonumber(found[i + 1])
    end
    if redis.call('ZCARD', set) > share then
      local last = tonumber(found[#found])
      if not edge or (newest and last > edge) or (not newest and last < edge) then edge = last end
    end
  end
  table.sort(ids, function(one, other)
    local a, b = scores[one], scores[other]
    if not newest then one, other, a, b = other, one, b, a end
    if a ~= b then return a > b end
    return one > other
  end)
  while edge and #ids > 0 do
    local last = scores[ids[#ids]]
    if (newest and last >= edge) or (not newest and last <= edge) then break end
    ids[#ids] = nil
  end
end
local offset, limit, total, page = tonumber(ARGV[1]), tonumber(ARGV[2]), 0, {}
for _, id in ipairs(ids) do
  if looks <= 0 then break end
  if matches(id) then
    total = total + 1
    if total > offset and #page < limit then page[#page + 1] = id end
  end
end
return {total, page}

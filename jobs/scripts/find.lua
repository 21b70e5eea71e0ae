-- A page of the jobs that lie in every one of these sets and in none of those. Reads alone.
--
-- ARGV[1] offset   ARGV[2] limit   ARGV[3] newest / oldest first
--         n, then n groups: m, then m sorted sets, of which a job lies in one at least
--         n, then n sorted sets in which it must not lie
-- All of them are sorted by when a job was made. The smallest group is walked, the others are asked.
--
-- Returns {how many there are in all, {id...}}.
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

local function has(group, id)
  if #group.sets == 1 then return redis.call('ZSCORE', group.sets[1], id) end
  if not group.ids then
    group.ids = {}
    for _, set in ipairs(group.sets) do
      for _, each in ipairs(redis.call('ZRANGE', set, 0, -1)) do group.ids[each] = true end
    end
  end
  return group.ids[id]
end

local function matches(id)
  for i, group in ipairs(groups) do
    if i ~= smallest and not has(group, id) then return false end
  end
  for _, set in ipairs(barred) do
    if redis.call('ZSCORE', set, id) then return false end
  end
  return true
end

local driver, ids = groups[smallest].sets, nil
if #driver == 1 then
  ids = redis.call('ZRANGE', driver[1], 0, -1)
else
  local union = {'ZUNION', #driver}
  for _, set in ipairs(driver) do union[#union + 1] = set end
  union[#union + 1], union[#union + 2] = 'AGGREGATE', 'MAX'
  ids = redis.call(unpack(union))
end
local first, last, step = #ids, 1, -1
if ARGV[3] == 'oldest' then first, last, step = 1, #ids, 1 end
local offset, limit, total, page = tonumber(ARGV[1]), tonumber(ARGV[2]), 0, {}
for i = first, last, step do
  if matches(ids[i]) then
    total = total + 1
    if total > offset and #page < limit then page[#page + 1] = ids[i] end
  end
end
return {total, page}

-- Adds new jobs to the index of words, a few at a time. New jobs wait for it in a list.
--
-- KEYS[1] waiting (list of JSON: id, created_at, all words (zset), prefix of a word's zset, words...)
-- ARGV[1] how many jobs   ARGV[2] prefix of job keys
-- A job that was removed is skipped.
--
-- Returns the number of jobs that were taken from the list.
local taken = 0
for _ = 1, tonumber(ARGV[1]) do
  local body = redis.call('LPOP', KEYS[1])
  if not body then break end
  taken = taken + 1
  local job = cjson.decode(body)
  local id, created_at, all, prefix = job[1], job[2], job[3], job[4]
  if redis.call('EXISTS', ARGV[2] .. id) == 1 then
    local words = {unpack(job, 5)}
    -- words that the job had before its labels changed
    for word in string.gmatch(redis.call('HGET', ARGV[2] .. id, 'words') or '', '%S+') do
      redis.call('ZREM', prefix .. word, id)
      if redis.call('EXISTS', prefix .. word) == 0 then redis.call('ZREM', all, word) end
    end
    for _, word in ipairs(words) do
      redis.call('ZADD', prefix .. word, string.format('%.0f', created_at), id)
      redis.call('ZADD', all, 0, word)
    end
    redis.call('HSET', ARGV[2] .. id, 'words', table.concat(words, ' '))
  end
end
return taken

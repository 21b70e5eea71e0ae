-- Runs commands in one atomic step.
--
-- ARGV  of each command: number of words, name, argument...
local at = 1
while ARGV[at] do
  local argc = tonumber(ARGV[at])
  redis.call(unpack(ARGV, at + 1, at + argc))
  at = at + argc + 1
end

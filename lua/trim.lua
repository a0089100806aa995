-- Trims what every group has acknowledged, and nothing else. Reading and trimming are one step: an entry that is
-- delivered in between could be lost otherwise.
--
-- KEYS   [1] orders, the stream
-- ARGV   none
-- Reply  how many entries were removed
-- Writes the stream: entries below the lowest pending id of any group; of a group with nothing pending, below its
--        last delivered one. Without a group nothing is trimmed.
local function parts(id)
  local ms, n = string.match(id, '^(%d+)-(%d+)$')
  return tonumber(ms), tonumber(n)
end
local function below(a, b)
  local a_ms, a_n = parts(a)
  local b_ms, b_n = parts(b)
  return a_ms < b_ms or (a_ms == b_ms and a_n < b_n)
end

if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
local floor
for _, fields in ipairs(redis.call('XINFO', 'GROUPS', KEYS[1])) do
  local group = {}
  for i = 1, #fields, 2 do group[fields[i]] = fields[i + 1] end
  local needed = group['last-delivered-id']
  if group['pending'] > 0 then needed = redis.call('XPENDING', KEYS[1], group['name'])[2] end
  if not floor or below(needed, floor) then floor = needed end
end
if not floor then return 0 end
return redis.call('XTRIM', KEYS[1], 'MINID', floor)

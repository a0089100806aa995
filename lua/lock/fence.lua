-- The number of an acquisition: above every earlier one of the same lock. Put before the scripts that hand it out.
--
-- It is Redis' time in µs where that is larger than the last number plus one. So the numbers go on growing after the
-- counter was lost (a flush, a replica that lacked it), as long as the new clock is not behind the last number.
-- Below 2^53 until the year 2255, so exact in Lua.
local function fence_after(last)
  local time = redis.call('TIME')
  local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
  local known = last and tonumber(last) or 0
  return string.format('%.0f', math.max(known + 1, now))
end

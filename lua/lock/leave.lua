-- Gives one level of a reentrant lock back; the last one frees it.
--
-- KEYS   [1] lock
-- ARGV   [1] token of the level
-- Reply  levels that are left, or -1 when this level is not (or no longer) held: nothing is written then
if redis.call('HDEL', KEYS[1], ARGV[1]) == 0 then return -1 end
local left = redis.call('HLEN', KEYS[1]) - 2
if left == 0 then redis.call('DEL', KEYS[1]) end
return left

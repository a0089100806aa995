-- Takes a lock, if nobody has it, and numbers the acquisition.
--
-- KEYS   [1] lock   [2] fence
-- ARGV   [1] token of the caller   [2] ttl, ms
-- Reply  the number as text, or nil when the lock is taken
-- Writes the lock (TTL: ARGV 2) and the fence (no TTL: numbers that start again would let an old holder in).
local fence = fence_after(redis.call('GET', KEYS[2]))
if not redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return false end
redis.call('SET', KEYS[2], fence)
return fence

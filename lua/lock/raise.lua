-- Raises the fence of one node of several to the number that the caller got from all of them, while the caller still
-- has the lock there. Who takes the lock on this node afterwards gets a larger number.
--
-- KEYS   [1] lock   [2] fence
-- ARGV   [1] token of the caller   [2] number
-- Reply  1 when the fence is at least the number and the lock the caller's, 0 when the lock is not
-- Writes the fence (no TTL); it is never lowered.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
local last = redis.call('GET', KEYS[2])
if not last or tonumber(last) < tonumber(ARGV[2]) then redis.call('SET', KEYS[2], ARGV[2]) end
return 1

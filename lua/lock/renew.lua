-- Gives a lock a new lease. Only its owner, and only while the lease runs: a lapsed lock is never revived.
--
-- KEYS   [1] lock
-- ARGV   [1] token of the caller   [2] ttl from now on, ms
-- Reply  1 when it was renewed, 0 when it is not (or no longer) the caller's
-- Writes the lock's TTL.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])

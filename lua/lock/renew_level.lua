-- Gives a reentrant lock a new lease, for as long as the caller's level is held. All levels share it.
--
-- KEYS   [1] lock
-- ARGV   [1] token of the level   [2] ttl from now on, ms
-- Reply  1 when the lease is at least that long now, 0 when this level is not (or no longer) held
-- Writes the lock's TTL; it is never shortened, since another level may rely on it.
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return 0 end
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 1

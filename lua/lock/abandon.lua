-- Leaves the queue of a fair lock, and the lock itself if the caller was given it and never learnt so.
--
-- KEYS   [1] lock   [2] queue   [3] alive
-- ARGV   [1] token of the caller
-- Reply  1 when the lock was the caller's and is free now, else 0
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('ZREM', KEYS[3], ARGV[1])
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])

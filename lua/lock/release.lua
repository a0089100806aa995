-- Gives a lock up. Only its owner: a lock that lapsed and was taken by another is left alone.
--
-- KEYS   [1] lock
-- ARGV   [1] token of the caller
-- Reply  1 when it was held and is free now, 0 when it is not (or no longer) the caller's
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])

-- Adds units to a sale's stock, once.
--
-- KEYS   [1] stock    [2] restored (the marker)
-- ARGV   [1] units    [2] how long the marker is kept, ms
-- Reply  1 added now, 0 added before, -1 not preheated (nothing is written, and nothing created)
-- Writes stock, and the marker (TTL: ARGV 2).
if not tonumber(redis.call('GET', KEYS[1])) then return -1 end
if not redis.call('SET', KEYS[2], '1', 'NX', 'PX', ARGV[2]) then return 0 end
redis.call('INCRBY', KEYS[1], ARGV[1])
return 1

-- Puts a product into the cache, unless a newer version of it was announced since it was read.
--
-- KEYS   [1] product    [2] floor
-- ARGV   [1] version, 0 for "there is no such product"   [2] the entry   [3] its TTL in ms
-- Reply  1 when it was written, 0 when it is older than the floor (nothing is written then)
-- Writes product, with that TTL.
local version = tonumber(ARGV[1])
local floor = tonumber(redis.call('GET', KEYS[2]) or '0')
if version < floor then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1

-- Deletes a product from the cache, and keeps what was read before that version from coming back.
--
-- KEYS   [1] product    [2] floor
-- ARGV   [1] version that SQL has now   [2] TTL of the floor in ms
-- Reply  1 when there was an entry, else 0
-- Writes floor, with that TTL, raised only; deletes product.
local version = tonumber(ARGV[1])
local floor = tonumber(redis.call('GET', KEYS[2]) or '0')
if version >= floor then redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[2]) end
return redis.call('DEL', KEYS[1])

-- Puts a sale that has never been open into Redis. Stock that is there already is live and is never overwritten.
--
-- KEYS   [1] sale    [2] stock
-- ARGV   [1] starts_at ms   [2] ends_at ms   [3] paused, '1' or '0'   [4] per_user   [5] price
--        [6] version of the terms   [7] stock
-- Reply  1 when it was written, 0 when there is stock already (nothing is written then)
-- Writes sale and stock, both without TTL: they live until the sale is closed.
if redis.call('EXISTS', KEYS[2]) == 1 then return 0 end
redis.call('HSET', KEYS[1], 'starts_at', ARGV[1], 'ends_at', ARGV[2], 'paused', ARGV[3], 'per_user', ARGV[4],
  'price', ARGV[5], 'version', ARGV[6])
redis.call('SET', KEYS[2], ARGV[7])
return 1

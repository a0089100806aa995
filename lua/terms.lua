-- Brings the terms of a sale that is in Redis up to date. They carry a version, so that two processes which carry
-- two changes over at once cannot leave the older one standing.
--
-- KEYS   [1] sale
-- ARGV   [1] starts_at ms   [2] ends_at ms   [3] paused, '1' or '0'   [4] per_user   [5] price   [6] version
-- Reply  1 when it was written, 0 when Redis has this version or a newer one, -1 when the sale is not there
-- Writes the sale. Never creates it: a sale without its stock could not be told from one that is open.
local version = redis.call('HGET', KEYS[1], 'version')
if not version then return -1 end
if tonumber(version) >= tonumber(ARGV[6]) then return 0 end
redis.call('HSET', KEYS[1], 'starts_at', ARGV[1], 'ends_at', ARGV[2], 'paused', ARGV[3], 'per_user', ARGV[4],
  'price', ARGV[5], 'version', ARGV[6])
return 1

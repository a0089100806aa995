-- Enters a lock, again if the caller's owner has it already. One hash holds it all: `owner`, `fence`, and one field a
-- level, named by that level's token. A counter would let a level of a lapsed lease, or a call that ran twice, give
-- back a level that is not its own.
--
-- KEYS   [1] lock   [2] fence, only where a number is wanted
-- ARGV   [1] owner   [2] token of this level   [3] ttl, ms
-- Reply  {levels now, the number as text or ''}, or nil when another owner has the lock
-- Writes the lock (TTL: ARGV 3, or what is left if that is longer) and, at the first level, the fence (no TTL).
local owner, level, ttl = ARGV[1], ARGV[2], tonumber(ARGV[3])
local holder = redis.call('HGET', KEYS[1], 'owner')
if holder and holder ~= owner then return false end

if not holder then
  local fence = ''
  if KEYS[2] then
    fence = fence_after(redis.call('GET', KEYS[2]))
    redis.call('SET', KEYS[2], fence)
  end
  redis.call('HSET', KEYS[1], 'owner', owner, 'fence', fence)
end
redis.call('HSET', KEYS[1], level, 1)
if redis.call('PTTL', KEYS[1]) < ttl then redis.call('PEXPIRE', KEYS[1], ttl) end
return { redis.call('HLEN', KEYS[1]) - 2, redis.call('HGET', KEYS[1], 'fence') }

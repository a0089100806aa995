-- Takes a lock whose waiters are served in the order in which they came, or a place in that order. A waiter calls it
-- again and again; each call tells how long the waiter may be silent before it counts as dead and is skipped.
--
-- KEYS   [1] lock   [2] queue: token -> ticket   [3] alive: token -> Redis time in ms   [4] fence, only where wanted
-- ARGV   [1] token of the caller   [2] ttl, ms   [3] how long the caller may be silent, ms
-- Reply  {1, 0, the number as text or ''} when the lock is the caller's
--        {0, waiters before the caller, ''} when it has to wait
-- Writes the lock (TTL: ARGV 2) and the fence (no TTL), or the caller's place; queue and alive end with the last
--        waiter's silence. Waiters that were silent too long lose their place, 100 a call.
local token, ttl, silence = ARGV[1], ARGV[2], tonumber(ARGV[3])
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local holder = redis.call('GET', KEYS[1])
local last_fence = KEYS[4] and redis.call('GET', KEYS[4])

local dead = redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', string.format('(%.0f', now), 'LIMIT', 0, 100)
if #dead > 0 then
  redis.call('ZREM', KEYS[2], unpack(dead))
  redis.call('ZREM', KEYS[3], unpack(dead))
end

local before = redis.call('ZRANK', KEYS[2], token) or redis.call('ZCARD', KEYS[2])
-- Its own token is there when the answer to an earlier call was lost.
if holder == token or (not holder and before == 0) then
  local fence = ''
  if KEYS[4] then
    fence = fence_after(last_fence)
    redis.call('SET', KEYS[4], fence)
  end
  redis.call('SET', KEYS[1], token, 'PX', ttl)
  redis.call('ZREM', KEYS[2], token)
  redis.call('ZREM', KEYS[3], token)
  return { 1, 0, fence }
end

if not redis.call('ZSCORE', KEYS[2], token) then
  local last = redis.call('ZRANGE', KEYS[2], -1, -1, 'WITHSCORES')
  redis.call('ZADD', KEYS[2], string.format('%.0f', tonumber(last[2] or '0') + 1), token)
end
redis.call('ZADD', KEYS[3], string.format('%.0f', now + silence), token)
local latest = redis.call('ZRANGE', KEYS[3], -1, -1, 'WITHSCORES')
local ends = string.format('%.0f', tonumber(latest[2]) + 1000)
redis.call('PEXPIREAT', KEYS[2], ends)
redis.call('PEXPIREAT', KEYS[3], ends)
return { 0, before, '' }

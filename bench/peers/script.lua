-- Claim and two buckets, all or nothing. A bucket is the time at which it is full again, in µs.
--
-- KEYS   [1] claim   [2] bucket of the user   [3] bucket of the address
-- ARGV   [1] record of the claim   [2] its TTL, ms   then a bucket: µs for one request, burst
-- Reply  {0} admitted   {1, record} the operation has a claim   {2, ms} refused for so long
local stored = redis.call('MGET', KEYS[1], KEYS[2], KEYS[3])
if stored[1] then return {1, stored[1]} end
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local wait, nexts = 0, {}
for i = 1, 2 do
  local interval, burst = tonumber(ARGV[1 + i * 2]), tonumber(ARGV[2 + i * 2])
  nexts[i] = math.max(tonumber(stored[i + 1] or 0), now) + interval
  wait = math.max(wait, nexts[i] - now - interval * burst)
end
if wait > 0 then return {2, math.ceil(wait / 1000)} end
for i = 1, 2 do
  redis.call('SET', KEYS[i + 1], string.format('%.0f', nexts[i]), 'PX', math.ceil((nexts[i] - now) / 1000))
end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return {0}

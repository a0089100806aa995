-- Lends out orders whose time to pay is over. Whoever takes one has it until the lease ends; then, unless it was removed
-- meanwhile, it is lent out again: a process that dies in between loses nothing.
--
-- KEYS   [1] due
-- ARGV   [1] lease, ms   [2] most orders to lend
-- Reply  the order ids
-- Writes due: the orders' times, moved to the end of the lease.
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local ids = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now), 'LIMIT', 0, ARGV[2])
local until_ms = string.format('%.0f', now + tonumber(ARGV[1]))
for _, id in ipairs(ids) do redis.call('ZADD', KEYS[1], until_ms, id) end
return ids

-- Acknowledges entries whose outcome SQL has committed, and tells it to those who ask Redis for the order.
--
-- KEYS   [1] orders, the stream; then the order of each entry that names one
-- ARGV   [1] group   [2] how long an order is kept from now on, ms
--        then the state of each order, then the id of each entry
-- Reply  how many entries were acknowledged now
-- Writes the group's pending list and the orders (TTL: ARGV 2); an order that is gone is not created.
local group, ttl = ARGV[1], ARGV[2]
local orders = #KEYS - 1
for i = 1, orders do
  if redis.call('PEXPIRE', KEYS[i + 1], ttl) == 1 then redis.call('HSET', KEYS[i + 1], 'state', ARGV[i + 2]) end
end
return redis.call('XACK', KEYS[1], group, unpack(ARGV, orders + 3))

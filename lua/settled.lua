-- Acknowledges entries whose outcome SQL has committed, tells it to those who ask Redis for the order, and notes until
-- when an order is to be paid.
--
-- KEYS   [1] orders, the stream   [2] due   then the order of each entry that names one
-- ARGV   [1] group   [2] how long an order is kept from now on, ms   [3] how many orders are to be paid
--        then the state of each order, then time (ms) and order id for each that is to be paid, then the id of each entry
-- Reply  how many entries were acknowledged now
-- Writes the group's pending list, due (no TTL), and the orders (TTL: ARGV 2); an order that is gone is not created.
local group, ttl, to_be_paid = ARGV[1], ARGV[2], tonumber(ARGV[3])
local orders = #KEYS - 2
for i = 1, orders do
  if redis.call('PEXPIRE', KEYS[i + 2], ttl) == 1 then redis.call('HSET', KEYS[i + 2], 'state', ARGV[i + 3]) end
end
local entries = orders + 4 + 2 * to_be_paid
for i = orders + 4, entries - 1, 2 do redis.call('ZADD', KEYS[2], ARGV[i], ARGV[i + 1]) end
return redis.call('XACK', KEYS[1], group, unpack(ARGV, entries))

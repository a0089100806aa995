-- Gives an order's stock back, once, and takes the order from its buyer, who may then buy again.
--
-- KEYS   [1] stock    [2] buyers    [3] order    [4] restored (the marker)
-- ARGV   [1] order id   [2] user   [3] quantity   [4] state the order ends in
--        [5] how long the marker is kept, ms      [6] how long the order is kept, ms
--        [7] '1' when the order goes on counting against its buyer's quota
-- Reply  1 given back now, 0 given back before, -1 not preheated (nothing is written, and nothing created)
-- Writes the marker (TTL: ARGV 5) guards the stock alone; the buyer's entry and the order's state (TTL: ARGV 6) are
--        brought right on every call, since only this order's own entry is touched.
local order_id, user, quantity, state = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
if not tonumber(redis.call('GET', KEYS[1])) then return -1 end

local bought = ARGV[7] ~= '1' and redis.call('HGET', KEYS[2], user)
if bought then
  local kept = {}
  for entry in string.gmatch(bought, '[^,]+') do
    if string.match(entry, '^([^:]+):') ~= order_id then kept[#kept + 1] = entry end
  end
  if #kept == 0 then
    redis.call('HDEL', KEYS[2], user)
  else
    redis.call('HSET', KEYS[2], user, table.concat(kept, ','))
  end
end
if redis.call('PEXPIRE', KEYS[3], ARGV[6]) == 1 then redis.call('HSET', KEYS[3], 'state', state) end

if not redis.call('SET', KEYS[4], '1', 'NX', 'PX', ARGV[5]) then return 0 end
redis.call('INCRBY', KEYS[1], quantity)
return 1

-- Sets a sale's stock to what SQL says, and marks restores as done that this stock has in it; nothing if the stock has
-- moved since it was looked at.
--
-- KEYS   [1] stock    then the marker (restored) of each restore
-- ARGV   [1] the stock that was seen, '' when there was none    [2] the stock to set    [3] how long markers are kept, ms
-- Reply  1 when it was set, 0 when the stock has moved (nothing is written)
-- Writes stock, without TTL as preheat.lua, and the markers (TTL: ARGV 3).
local seen = redis.call('GET', KEYS[1]) or ''
if seen ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2])
for i = 2, #KEYS do redis.call('SET', KEYS[i], '1', 'PX', ARGV[3]) end
return 1

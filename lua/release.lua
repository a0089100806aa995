-- Gives a claim up. Only its owner, and only while in flight.
--
-- KEYS   [1] claim
-- ARGV   [1] owner nonce
--        [2] 0: the operation never began, the claim is deleted; where a stored token was consumed for it, it is kept
--            as released until that token ends.
--            Else the Redis time in ms until which it may still begin: the claim's deadline is brought forward to
--            it (its TTL stays), so that a retry takes over then and not before. Never later than it was.
-- Reply  1 when it was given up, 0 when it is not this owner's, or no longer in flight
local record = redis.call('GET', KEYS[1])
if not claim_held_by(record, ARGV[1]) then return 0 end
local not_after = tonumber(ARGV[2])
local token_ends = claim_token_ends(record)
if not_after == 0 and token_ends then
  redis.call('SET', KEYS[1], claim_released(record), 'PXAT', string.format('%.0f', token_ends))
elseif not_after == 0 then
  redis.call('DEL', KEYS[1])
elseif not_after < claim_deadline(record) then
  local rest = string.sub(record, 15)
  redis.call('SET', KEYS[1], claim_state(record) .. string.format('%013.0f', not_after) .. rest, 'KEEPTTL')
end
return 1

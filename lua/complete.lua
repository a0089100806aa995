-- Finishes a claim with its answer. Only its owner, and only while in flight.
--
-- KEYS   [1] claim
-- ARGV   [1] owner nonce   [2] the answer as api/answer.rs packs it, or '' when it is too large to keep
-- Reply  1 when it was finished, 0 when it is not this owner's, or no longer in flight
-- Writes the claim with its own retention as TTL; the head stays as it is but for the state.
local record = redis.call('GET', KEYS[1])
if not claim_held_by(record, ARGV[1]) then return 0 end
local state = ARGV[2] == '' and 'T' or 'D'
redis.call('SET', KEYS[1], claim_finished(record, state, ARGV[2]), 'PX', string.format('%.0f', claim_retention(record)))
return 1

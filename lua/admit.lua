-- Decides whether a request passes: its operation's claim first, then all its buckets together.
--
-- KEYS   [1]  claim of the operation, only when ARGV[1] names an owner
--        then one key a bucket
-- ARGV   [1]  owner nonce, or '' for a request that is no operation
--        [2]  fingerprint       [3]  op id
--        [4]  lease, ms         [5]  retention of the answer, ms
--        [6]  '1' when an ambiguous outcome is held, '0' when it may be tried again
--        [7]  latest Redis time in ms at which this call may still claim, 0 for any
--        [8]  now in µs where Redis' clock cannot be used, else 0
--        then three a bucket: interval in µs, burst, cost
-- Reply  {0 admitted,  now ms, op id when an earlier claim was taken over else '', level...}
--        {1 limited,   now ms, level...}         {4 mismatch, now ms, level...}
--        {2 in flight, now ms, deadline ms}      {3 replay, now ms, answer}
--        {5 unknown, now ms}  {6 too late, now ms}  {7 answered, but the answer was not kept, now ms}
--        A level is how far the bucket is from full, in µs: after the charge when it was charged, before it otherwise.
-- Writes the buckets (TTL: time to full) and the claim (TTL: lease and a margin; retention when held), all or nothing.
--        A mismatch charges the buckets; any other refusal, and a bucket whose cost is 0, writes nothing.
local CLAIM_MARGIN = 10000

local owner, fingerprint, op_id = ARGV[1], ARGV[2], ARGV[3]
local lease, retention, held = tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6] == '1'
local call_by, now = tonumber(ARGV[7]), tonumber(ARGV[8])
if now == 0 then
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end
local now_ms = math.floor(now / 1000)
if call_by > 0 and now_ms > call_by then return {6, now_ms} end

local first = owner == '' and 1 or 2
local stored = #KEYS > 0 and redis.call('MGET', unpack(KEYS)) or {}

local verdict, taken_over, free = 0, '', false
if owner ~= '' and stored[1] then
  local record = stored[1]
  if claim_fingerprint(record) ~= fingerprint then
    verdict = 4
  elseif claim_in_flight(record) then
    if claim_owner(record) == owner then
      free = true
    elseif now_ms < claim_deadline(record) then
      return {2, now_ms, claim_deadline(record)}
    elseif claim_state(record) == 'H' then
      return {5, now_ms}
    else
      op_id = claim_op_id(record)
      taken_over = op_id
    end
  elseif claim_state(record) == 'D' then
    return {3, now_ms, claim_answer(record)}
  elseif claim_state(record) == 'T' then
    return {7, now_ms}
  end
end

local refused, nexts, levels = false, {}, {}
for i = first, #KEYS do
  local at = 9 + (i - first) * 3
  local interval, burst, cost = tonumber(ARGV[at]), tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
  local tolerance = interval * burst
  local tat = math.min(math.max(tonumber(stored[i] or 0), now), now + tolerance)
  local next = free and tat or tat + cost * interval
  if next - now > tolerance then refused = true end
  nexts[i], levels[i] = next, tat - now
end

local reply = {refused and 1 or verdict, now_ms}
if not refused then
  for i = first, #KEYS do
    if nexts[i] - now > levels[i] then
      levels[i] = nexts[i] - now
      redis.call('SET', KEYS[i], string.format('%.0f', nexts[i]), 'PX', string.format('%.0f', math.ceil(levels[i] / 1000)))
    end
  end
  if verdict == 0 then
    reply[3] = taken_over
    if owner ~= '' and not free then
      local record = claim_pack(held and 'H' or 'F', now_ms + lease, retention, owner, fingerprint, op_id)
      redis.call('SET', KEYS[1], record, 'PX', held and retention or lease + CLAIM_MARGIN)
    end
  end
end
for i = first, #KEYS do reply[#reply + 1] = levels[i] end
return reply

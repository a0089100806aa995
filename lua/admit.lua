-- Decides whether a request passes: its operation's claim first, then all its buckets together.
--
-- KEYS   [1]  claim of the operation, only when ARGV[1] names an owner
--        then sale and stock, only when ARGV[9] is '1' or '2'
--        then one key a bucket
-- ARGV   [1]  owner nonce, or '' for a request that is no operation
--        [2]  fingerprint       [3]  op id
--        [4]  lease, ms         [5]  retention of the answer, ms
--        [6]  '1' when an ambiguous outcome is held, '0' when it may be tried again
--        [7]  latest Redis time in ms at which this call may still claim, 0 for any
--        [8]  now in µs where Redis' clock cannot be used, else 0
--        [9]  '1' when sale and stock are passed and a sale that sells nothing refuses what has no claim yet,
--             '2' when they are passed only to be told, '0' when they are not
--        [10] '1' when the caller would refuse what has no claim yet
--        then three a bucket: interval in µs, burst, cost
-- Reply  {0 admitted,  now ms, sale, op id when an earlier claim was taken over else '', level...}
--        {1 limited,   now ms, sale, level...}   {4 mismatch, now ms, '', level...}
--        {2 in flight, now ms, deadline ms}      {3 replay, now ms, answer}
--        {5 unknown, now ms}  {6 too late, now ms}  {7 answered, but the answer was not kept, now ms}
--        {8 the sale sells nothing, now ms, sale}   {9 no claim: the caller's refusal stands, now ms}
--        A level is how far the bucket is from full, in µs: after the charge when it was charged, before it otherwise.
--        sale is 'starts_at,ends_at,paused,stock,price' (stock empty when there is none), '-' when there is no such sale in
--        Redis, '' when it was not read.
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

local claims = owner == '' and 0 or 1
local first = claims + (ARGV[9] ~= '0' and 2 or 0) + 1
local stored = #KEYS > 0 and redis.call('MGET', unpack(KEYS)) or {}

local verdict, taken_over, free, record = 0, '', false, claims == 1 and stored[1]
if record then
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
elseif ARGV[10] == '1' then
  return {9, now_ms}
end

local sale = ''
if ARGV[9] ~= '0' and verdict == 0 then
  local stock = tonumber(stored[claims + 2])
  local terms = redis.call('HMGET', KEYS[claims + 1], 'starts_at', 'ends_at', 'paused', 'price')
  local starts_at, ends_at = tonumber(terms[1]), tonumber(terms[2])
  if starts_at and ends_at then
    local left = stock and string.format('%.0f', stock) or ''
    sale = table.concat({terms[1], terms[2], terms[3] or '0', left, terms[4] or '0'}, ',')
    local shut = not stock or terms[3] == '1' or now_ms < starts_at or now_ms >= ends_at or stock <= 0
    if shut and ARGV[9] == '1' and not record then return {8, now_ms, sale} end
  else
    sale = '-'
  end
end

local refused, nexts, levels = false, {}, {}
for i = first, #KEYS do
  local at = 11 + (i - first) * 3
  local interval, burst, cost = tonumber(ARGV[at]), tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
  local tolerance = interval * burst
  local tat = math.min(math.max(tonumber(stored[i] or 0), now), now + tolerance)
  local next = free and tat or tat + cost * interval
  if next - now > tolerance then refused = true end
  nexts[i], levels[i] = next, tat - now
end

local reply = {refused and 1 or verdict, now_ms, sale}
if not refused then
  for i = first, #KEYS do
    if nexts[i] - now > levels[i] then
      levels[i] = nexts[i] - now
      redis.call('SET', KEYS[i], string.format('%.0f', nexts[i]), 'PX', string.format('%.0f', math.ceil(levels[i] / 1000)))
    end
  end
  if verdict == 0 then
    reply[4] = taken_over
    if claims == 1 and not free then
      local claim = claim_pack(held and 'H' or 'F', now_ms + lease, retention, owner, fingerprint, op_id)
      redis.call('SET', KEYS[1], claim, 'PX', held and retention or lease + CLAIM_MARGIN)
    end
  end
end
for i = first, #KEYS do reply[#reply + 1] = levels[i] end
return reply

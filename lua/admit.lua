-- Decides whether a request passes: its operation's claim first, then all its buckets together.
--
-- KEYS   [1]  claim of the operation, only when ARGV[1] names an owner
--        then the mark of a revoked user JWT, only when ARGV[12] is '1'
--        then the stored order token, only when ARGV[11] is not '0'
--        then sale and stock, only when ARGV[9] is '1' or '2'
--        then one key a bucket, those in shadow last
-- ARGV   [1]  owner nonce, or '' for a request that is no operation
--        [2]  fingerprint       [3]  op id
--        [4]  lease, ms         [5]  retention of the answer, ms
--        [6]  '1' when an ambiguous outcome is held, '0' when it may be tried again
--        [7]  latest Redis time in ms at which this call may still claim, 0 for any
--        [8]  now in µs where Redis' clock cannot be used, else 0
--        [9]  '1' when sale and stock are passed and a sale that sells nothing refuses what has no claim yet,
--             '2' when they are passed only to be told, '0' when they are not
--        [10] '1' when the caller would refuse what has no claim yet
--        [11] '0' without a stored token. With an owner the claim consumes it: the Redis time in ms at which it ends.
--             Without one it is issued: how long it is kept, ms, counted from the sale's start where that is read here
--             and still to come
--        [12] '1' when the mark of a revoked JWT is passed
--        [13] how many of the buckets are in shadow: they refuse nothing, and one that would is not charged
--        then three a bucket: interval in µs, burst, cost
-- Reply  {0 admitted,  now ms, sale, op id when an earlier claim was taken over else '', level...}
--        {1 limited,   now ms, sale, level...}   {4 mismatch, now ms, '', level...}
--        {2 in flight, now ms, deadline ms}      {3 replay, now ms, answer}
--        {5 unknown, now ms}  {6 too late, now ms}  {7 answered, but the answer was not kept, now ms}
--        {8 the sale sells nothing, now ms, sale}   {9 no claim: the caller's refusal stands, now ms}
--        {10 the token is used up, now ms}          {11 the JWT is revoked, now ms}
--        A level is how far the bucket is from full, in µs: after the charge when it was charged, before it otherwise.
--        Of a bucket in shadow that would have refused it is told as -1 - level.
--        sale is 'starts_at,ends_at,paused,stock,price' (stock empty when there is none), '-' when there is no such sale in
--        Redis, '' when it was not read.
-- Writes the buckets (TTL: time to full), the claim (TTL: lease and a margin; retention when held; never before a
--        consumed token ends) and the token, all or nothing. A mismatch charges the buckets; any other refusal, and a
--        bucket whose cost is 0, writes nothing.
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
local revoked = ARGV[12] == '1' and claims + 1
local token = ARGV[11] ~= '0' and (revoked or claims) + 1
local sales = token or revoked or claims
local first = sales + (ARGV[9] ~= '0' and 2 or 0) + 1
local stored = #KEYS > 0 and redis.call('MGET', unpack(KEYS)) or {}

if revoked and stored[revoked] then return {11, now_ms} end
local verdict, taken_over, free, record = 0, '', false, claims == 1 and stored[1]
local new = not record or claim_state(record) == 'R'
if not new then
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
elseif token and claims == 1 and not record and not stored[token] then
  return {10, now_ms}
end

local sale, starts_at, ends_at = '', nil, nil
if ARGV[9] ~= '0' and verdict == 0 then
  local stock = tonumber(stored[sales + 2])
  local terms = redis.call('HMGET', KEYS[sales + 1], 'starts_at', 'ends_at', 'paused', 'price')
  starts_at, ends_at = tonumber(terms[1]), tonumber(terms[2])
  if starts_at and ends_at then
    local left = stock and string.format('%.0f', stock) or ''
    sale = table.concat({terms[1], terms[2], terms[3] or '0', left, terms[4] or '0'}, ',')
    local shut = not stock or terms[3] == '1' or now_ms < starts_at or now_ms >= ends_at or stock <= 0
    if shut and ARGV[9] == '1' and new then return {8, now_ms, sale} end
  else
    sale = '-'
  end
end

local enforced = #KEYS - tonumber(ARGV[13])
local refused, nexts, levels = false, {}, {}
for i = first, #KEYS do
  local at = 14 + (i - first) * 3
  local interval, burst, cost = tonumber(ARGV[at]), tonumber(ARGV[at + 1]), tonumber(ARGV[at + 2])
  local tolerance = interval * burst
  local tat = math.min(math.max(tonumber(stored[i] or 0), now), now + tolerance)
  local next = free and tat or tat + cost * interval
  nexts[i], levels[i] = next, tat - now
  if next - now > tolerance then
    if i <= enforced then
      refused = true
    else
      nexts[i], levels[i] = nil, -1 - levels[i]
    end
  end
end

local reply = {refused and 1 or verdict, now_ms, sale}
if not refused then
  for i = first, #KEYS do
    if nexts[i] and nexts[i] - now > levels[i] then
      levels[i] = nexts[i] - now
      redis.call('SET', KEYS[i], string.format('%.0f', nexts[i]), 'PX', string.format('%.0f', math.ceil(levels[i] / 1000)))
    end
  end
  if verdict == 0 then
    reply[4] = taken_over
    if claims == 1 and not free then
      local claim = claim_pack(held and 'H' or 'F', now_ms + lease, retention, owner, fingerprint, op_id)
      local ttl = held and retention or lease + CLAIM_MARGIN
      if token then
        claim = claim .. ARGV[11]
        ttl = math.max(ttl, tonumber(ARGV[11]) - now_ms)
        if not record then redis.call('DEL', KEYS[token]) end
      end
      redis.call('SET', KEYS[1], claim, 'PX', string.format('%.0f', ttl))
    elseif token and claims == 0 then
      local ttl = tonumber(ARGV[11]) + math.max((starts_at or 0) - now_ms, 0)
      redis.call('SET', KEYS[token], '1', 'PX', string.format('%.0f', ttl))
    end
  end
end
for i = first, #KEYS do reply[#reply + 1] = levels[i] end
return reply

-- Takes stock for one order, at most once an operation, and appends the order to the stream in the same step.
--
-- KEYS   [1] sale    [2] stock    [3] buyers    [4] request (the order that the op id led to)
--        [5] order   [6] orders, the stream     [7] seq
--        [8] the operation's claim; the request key again for a caller that has none
-- ARGV   [1] order id, should it be a new order     [2] op id     [3] sku     [4] user     [5] quantity
--        [6] Redis time in ms after which it must not begin       [7] highest seq that the caller knows
--        [8] the claim's owner, '' for none         [9] how long the request is remembered, ms
--        then three packed answers (api/answer.rs), with \1 where the order id belongs:
--        [10] accepted   [11] already bought   [12] ended
-- Reply  {code, order id or '', now ms, 1 when the claim was written else 0, seq, stock left, starts_at ms}
--         0 accepted        1 sold out     2 already bought   3 this operation's order, accepted before
--        -1 not preheated  -2 paused      -3 not started     -4 ended
--        -5 too late       -6 rolled back -7 more than one user may have
-- Writes on 0: stock, buyers, request (TTL: ARGV 9), seq, order, orders. On 0, 2, 3, -4 the claim is finished with
--        its answer (TTL: its own retention), on 1, -1, -2, -3 it is deleted, or kept as released until the stored token
--        that it consumed ends; only if it is the owner's and in flight.
--        The order has no TTL until it is settled (settled.lua).
local order_id, op_id, sku, user = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local quantity, not_after, known_seq = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local owner, request_ttl = ARGV[8], ARGV[9]

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local held = redis.call('MGET', KEYS[4], KEYS[7], KEYS[2], KEYS[8])
local earlier, seq, stock = held[1], tonumber(held[2] or 0), tonumber(held[3])
local record = owner ~= '' and claim_held_by(held[4], owner) and held[4]
local starts_at

local function answered(code, id, template)
  if record then
    local answer = string.gsub(template, '\1', id)
    redis.call('SET', KEYS[8], claim_finished(record, 'D', answer), 'PX', claim_retention(record))
  end
  return {code, id, now, record and 1 or 0, seq, stock or 0, starts_at or 0}
end

local function passing(code)
  local token_ends = record and claim_token_ends(record)
  if token_ends then
    redis.call('SET', KEYS[8], claim_released(record), 'PXAT', string.format('%.0f', token_ends))
  elseif record then
    redis.call('DEL', KEYS[8])
  end
  return {code, '', now, record and 1 or 0, seq, stock or 0, starts_at or 0}
end

local function untouched(code) return {code, '', now, 0, seq, stock or 0, starts_at or 0} end

if earlier then return answered(3, earlier, ARGV[10]) end
if now > not_after then return untouched(-5) end
if seq < known_seq then return untouched(-6) end

local sale = redis.call('HMGET', KEYS[1], 'starts_at', 'ends_at', 'paused', 'per_user', 'price')
local ends_at, per_user, price = tonumber(sale[2]), tonumber(sale[4]), sale[5]
starts_at = tonumber(sale[1])
if not (stock and starts_at and ends_at and per_user and price) then return passing(-1) end
if sale[3] == '1' then return passing(-2) end
if now < starts_at then return passing(-3) end
if now >= ends_at then return answered(-4, '', ARGV[12]) end
if quantity > per_user then return untouched(-7) end

local bought = redis.call('HGET', KEYS[3], user)
if bought then
  local units = quantity
  for n in string.gmatch(bought, ':(%d+)') do units = units + tonumber(n) end
  if units > per_user then return answered(2, string.match(bought, '^([^:]+):'), ARGV[11]) end
end
if stock < quantity then return passing(1) end

local at = string.format('%.0f', now)
local entry = order_id .. ':' .. ARGV[5]
stock = redis.call('DECRBY', KEYS[2], ARGV[5])
redis.call('HSET', KEYS[3], user, bought and bought .. ',' .. entry or entry)
redis.call('SET', KEYS[4], order_id, 'PX', request_ttl)
seq = redis.call('INCR', KEYS[7])
redis.call('HSET', KEYS[5], 'user', user, 'sku', sku, 'quantity', ARGV[5], 'price', price, 'state', 'queued', 'at', at)
redis.call('XADD', KEYS[6], '*', 'order', order_id, 'req', op_id, 'sku', sku, 'user', user, 'quantity', ARGV[5],
  'price', price, 'per_user', sale[4], 'seq', string.format('%.0f', seq), 'at', at)
return answered(0, order_id, ARGV[10])

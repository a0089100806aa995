-- The claim record, as every script reads and writes it. Put before admit, complete, release and deduct at build.
--
-- One packed string: a head of fixed width, then, once answered, the answer as api/answer.rs packs it. In flight, the
-- head is followed by the end of the stored order token that was consumed for it (ms of Redis' clock), or by nothing.
--
--   1      state: F in flight, may be taken over after its deadline
--                 H in flight, held: never taken over (on_ambiguous = "hold")
--                 D done, the answer follows      T done, the answer was too large to keep
--                 R released, in place of the stored token that it consumed: the next caller may claim it anew
--   2-14   deadline, ms of Redis' clock, 13 digits
--   15-24  retention of the answer, ms, 10 digits
--   25-46  owner's nonce    47-68 fingerprint    69-90 op id    (22 base64url characters each)
--   91-    answer, or end of the token
local HEAD = 90

local function claim_state(record) return string.sub(record, 1, 1) end
local function claim_in_flight(record)
  local state = claim_state(record)
  return state == 'F' or state == 'H'
end
local function claim_deadline(record) return tonumber(string.sub(record, 2, 14)) end
local function claim_retention(record) return tonumber(string.sub(record, 15, 24)) end
local function claim_owner(record) return string.sub(record, 25, 46) end
local function claim_fingerprint(record) return string.sub(record, 47, 68) end
local function claim_op_id(record) return string.sub(record, 69, 90) end
local function claim_token_ends(record) return tonumber(string.sub(record, HEAD + 1)) end
local function claim_answer(record) return string.sub(record, HEAD + 1) end

local function claim_pack(state, deadline, retention, owner, fingerprint, op_id)
  return state .. string.format('%013.0f%010.0f', deadline, retention) .. owner .. fingerprint .. op_id
end

-- The same claim, finished: state D with its answer, or T without.
local function claim_finished(record, state, answer)
  return state .. string.sub(record, 2, HEAD) .. answer
end

-- The same claim, given up by an operation whose stored token is not to be lost. Kept until that token ends.
local function claim_released(record) return 'R' .. string.sub(record, 2) end

-- May this caller finish or release it? Only its owner, and only while in flight.
local function claim_held_by(record, owner)
  return record and #record >= HEAD and claim_in_flight(record) and claim_owner(record) == owner
end

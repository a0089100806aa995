-- wrk's script: sends requests that were written beforehand, each once, and counts the answers by status.
--
-- Arguments: the file of requests, each preceded by its length in eight digits; then
--   once    running out of requests is a fault, told as "exhausted"
--   again   starts over at the end
--   N       ends the run as soon as N requests are answered, and tells how long they took
-- Writes one line of JSON, with the first body of each status.
local ffi = require('ffi')
ffi.cdef('typedef struct { long s; long ns; } bench_time; int clock_gettime(int, bench_time *);')
local FILLER = 'GET /healthz HTTP/1.1\r\nHost: bench\r\n\r\n'

local threads = {}
function setup(thread) threads[#threads + 1] = thread end

local function now_us()
  local time = ffi.new('bench_time')
  ffi.C.clock_gettime(1, time)
  return tonumber(time.s) * 1e6 + tonumber(time.ns) / 1e3
end

local file, again, all, started, trial
statuses, bodies, answered, exhausted = {}, {}, 0, false

function init(args)
  file = assert(io.open(args[1], 'rb'))
  again, all = args[2] == 'again', tonumber(args[2])
end

local function take()
  local length = file:read(8)
  return length and file:read(tonumber(length))
end

function request()
  if not trial then
    -- wrk looks at one request before it begins.
    trial = take()
    file:seek('set', 0)
    return trial
  end
  started = started or now_us()
  local text = take()
  if text then return text end
  if again then
    file:seek('set', 0)
    return take()
  end
  exhausted = true
  return FILLER
end

local function json(counts)
  local items = {}
  for status, count in pairs(counts) do items[#items + 1] = string.format('"%s":%d', status, count) end
  return '{' .. table.concat(items, ',') .. '}'
end

local function json_of_bodies(texts)
  local items = {}
  for status, text in pairs(texts) do
    items[#items + 1] = string.format('"%s":"%s"', status, text:sub(1, 300):gsub('[%c"\\]', "'"))
  end
  return '{' .. table.concat(items, ',') .. '}'
end

function response(status, _, body)
  if all and status == 200 then return end
  local name = tostring(status)
  if not statuses[name] then bodies[name] = body end
  statuses[name] = (statuses[name] or 0) + 1
  answered = answered + 1
  if all and answered == all then
    local text = '{"requests":%d,"duration_us":%.0f,"p50_us":0,"p99_us":0,"exhausted":false,"failed":0,"statuses":%s,"bodies":%s}\n'
    io.stdout:write(string.format(text, answered, now_us() - started, json(statuses), json_of_bodies(bodies)))
    io.stdout:flush()
    os.exit(0)
  end
end

function done(summary, latency)
  local counts, texts, out = {}, {}, false
  for _, thread in ipairs(threads) do
    for status, count in pairs(thread:get('statuses')) do counts[status] = (counts[status] or 0) + count end
    for status, text in pairs(thread:get('bodies')) do texts[status] = text end
    out = out or thread:get('exhausted')
  end
  local errors = summary.errors
  local text = '{"requests":%d,"duration_us":%.0f,"p50_us":%.0f,"p99_us":%.0f,"exhausted":%s,"failed":%d,"statuses":%s,"bodies":%s}\n'
  io.stdout:write(string.format(text, summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    tostring(out), errors.connect + errors.read + errors.write + errors.timeout, json(counts), json_of_bodies(texts)))
end

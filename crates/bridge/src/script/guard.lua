-- Checks what a script does before Redis does it. It stands in front of the script on the script's first line, so
-- that line numbers hold, and hides what leads around it. @NAMES@ are filled in by guard.rs.
-- `redis.call` must be a C function, as the real one is: a Lua function in `return redis.call(...)` would take the
-- place of the script's frame, and with it of the line that an error names. So it is a coroutine that never ends.
-- The semicolon at the end is not decoration: without it a script could go on with the statement, where the names
-- still mean what they meant before.
local redis, server, _G, load, loadstring, getfenv, setfenv = (function()
  local R, S, G, K = redis, rawget(_G, 'server'), _G, KEYS
  local T, P, D, L = @TABLE@, @PREFIX@, @DECLARED@, @LISTED@
  local find, match, gmatch, lower, upper, sub = string.find, string.match, string.gmatch, string.lower, string.upper, string.sub
  local format, floor, min, num, kind, fail, meta = string.format, math.floor, math.min, tonumber, type, error, setmetatable
  local wrap, yield = coroutine.wrap, coroutine.yield
  local given = {}
  if D then for i = 1, #K do given[K[i]] = true end end
  local function range(spec, a, n)
    local b, l, s, m
    if sub(spec, 1, 1) == 'r' then
      b, l, s, m = match(spec, '^r(%d+),(-?%d+),(%d+),(%d+)$')
      b = num(b)
    else
      local w, f
      w, f, l, s, m = match(spec, '^k([^,]+),(-?%d+),(-?%d+),(%d+),(%d+)$')
      f = num(f)
      local from, to, by = f, n - 1, 1
      if f < 0 then from, to, by = n + f, 1, -1 end
      for i = from, to, by do
        if upper(a[i + 1]) == w then b = i + 1 break end
      end
      if not b then return 0, -1, 1 end
    end
    l, m = num(l), num(m)
    if l >= 0 then l = b + l elseif m < 2 then l = n + l else l = b + floor((n - b) / m) + l end
    return b, l, num(s)
  end
  local function count(spec, a)
    local b, i, f, s = match(spec, '^n(%d+),(%d+),(%d+),(%d+)$')
    f, s = b + f, num(s)
    return f, f + ((num(a[b + i + 1]) or 0) - 1) * s, s
  end
  local function one(name, key)
    if P and sub(key, 1, #P) ~= P then
      return "NOPERM this token may not use the key '" .. key .. "', nor may its scripts"
    end
    if D and not given[key] then
      return "ERR undeclared key '" .. key .. "' in '" .. name .. "': a script may touch only the keys it gets in KEYS"
    end
  end
  local function check(n, a)
    for i = 1, n do
      if kind(a[i]) == 'number' then a[i] = format('%.17g', a[i]) end
      if kind(a[i]) ~= 'string' then return end
    end
    if n == 0 then return end
    local name = lower(a[1])
    local _, at = find(T, '|' .. name .. '=', 1, true)
    if not at and n > 1 then
      _, at = find(T, '|' .. name .. ' ' .. lower(a[2]) .. '=', 1, true)
    end
    if not at then
      return L and "NOPERM this token may not run the '" .. name .. "' command, nor may its scripts" or nil
    end
    local specs = sub(T, at + 1, find(T, '|', at, true) - 1)
    -- Nearly every command: one key, and it comes first.
    if specs == 'r1,0,1,0' then return n > 1 and one(name, a[2]) or nil end
    for spec in gmatch(specs, '[^;]+') do
      local first, last, step = 0, -1, 1
      if spec == 'u' then
        if D or P then return "ERR the keys of '" .. name .. "' cannot be known, so they cannot be checked" end
      elseif sub(spec, 1, 1) == 'n' then
        first, last, step = count(spec, a)
      else
        first, last, step = range(spec, a, n)
      end
      for i = first, min(last, n - 1), step do
        local refusal = one(name, a[i + 1])
        if refusal then return refusal end
      end
    end
  end
  local function safe(...)
    local refusal = check(select('#', ...), {...})
    if refusal then return {err = refusal} end
    return R.pcall(...)
  end
  local serve, live
  local function fresh() live = wrap(serve) end
  function serve(...)
    local reply = safe(...)
    if kind(reply) == 'table' and reply.err then fresh() fail({err = reply.err}) end
    return serve(yield(reply))
  end
  fresh()
  local function deny() fail('scripts that are checked cannot load code', 2) end
  local function frozen() fail('Attempt to modify a readonly table', 2) end
  local function part(_, k)
    if k == 'call' then return live end
    if k == 'pcall' then return safe end
    return R[k]
  end
  local proxy = meta({}, {__index = part, __newindex = frozen, __metatable = false})
  local own
  own = {redis = proxy, server = S and proxy, load = deny, loadstring = deny, getfenv = deny, setfenv = deny}
  own._G = own
  meta(own, {__index = function(_, k) return G[k] end, __newindex = frozen, __metatable = false})
  return proxy, S and proxy, own, deny, deny, deny, deny
end)();

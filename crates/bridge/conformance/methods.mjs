// Every method of the client that Redis 7.0 can serve: [method, arguments, what must come back].
const any = () => true;
const among = (...values) => (got) => values.includes(got);
const sorted = (...values) => (got) => JSON.stringify([...got].sort()) === JSON.stringify(values);
const between = (low, high) => (got) => got >= low && got <= high;
const soon = Math.floor(Date.now() / 1000) + 100;

export const rows = [
  // Strings
  ["set", ["s", "v"], "OK"], ["get", ["s"], "v"], ["set", ["s", "w", { get: true }], "v"],
  ["set", ["s", "x", { nx: true }], null], ["set", ["s", { a: [1, null, "é"] }, { ex: 100 }], "OK"], ["get", ["s"], { a: [1, null, "é"] }],
  ["get", ["none"], null], ["append", ["t", "ab"], 2], ["append", ["t", "cd"], 4], ["strlen", ["t"], 4],
  ["getrange", ["t", 1, 2], "bc"], ["setrange", ["t", 1, "XY"], 4], ["getset", ["t", "n"], "aXYd"], ["getdel", ["t"], "n"],
  ["setex", ["e", 100, "v"], "OK"], ["psetex", ["e", 100_000, "v"], "OK"], ["getex", ["e", { ex: 50 }], "v"],
  ["setnx", ["e", "w"], 0], ["mset", [{ m1: 1, m2: "two" }], "OK"], ["mget", ["m1", "m2", "none"], [1, "two", null]],
  ["msetnx", [{ m1: 1, m3: 3 }], 0], ["incr", ["n"], 1], ["incrby", ["n", 9], 10], ["incrbyfloat", ["n", 0.5], 10.5],
  ["set", ["n", 5], "OK"], ["decr", ["n"], 4], ["decrby", ["n", 4], 0],
  // Bits
  ["setbit", ["b", 7, 1], 0], ["getbit", ["b", 7], 1], ["bitcount", ["b"], 1], ["bitpos", ["b", 1], 7], ["bitop", ["not", "b2", "b"], 1],
  // Keys
  ["exists", ["s", "n", "none"], 2], ["type", ["s"], "string"], ["ttl", ["s"], between(90, 100)], ["pttl", ["s"], between(90_000, 100_000)],
  ["expire", ["n", 100], 1], ["expireat", ["n", soon], 1], ["pexpire", ["n", 100_000], 1], ["pexpireat", ["n", soon * 1000], 1],
  ["persist", ["n"], 1], ["rename", ["n", "n2"], "OK"], ["renamenx", ["n2", "s"], 0], ["copy", ["n2", "n3"], "COPIED"],
  ["touch", ["n2", "none"], 1], ["unlink", ["n3"], 1], ["del", ["n2", "none"], 1], ["randomkey", [], (k) => typeof k === "string"],
  ["keys", ["m?"], sorted("m1", "m2")], ["dbsize", [], between(1, 100)], ["scan", [0, { match: "m*", count: 1000 }], ([c, k]) => c === "0" && k.length === 2],
  // Hashes
  ["hset", ["h", { a: 1, b: "x", c: { d: true } }], 3], ["hget", ["h", "a"], 1], ["hgetall", ["h"], { a: 1, b: "x", c: { d: true } }],
  ["hgetall", ["none"], null], ["hmset", ["h", { e: 2.5 }], "OK"], ["hmget", ["h", "a", "none"], { a: 1, none: null }], ["hlen", ["h"], 4],
  ["hexists", ["h", "a"], 1], ["hkeys", ["h"], sorted("a", "b", "c", "e")], ["hvals", ["h"], [1, "x", { d: true }, 2.5]], ["hincrby", ["h", "a", 2], 3],
  ["hincrbyfloat", ["h", "e", 0.25], 2.75], ["hsetnx", ["h", "a", 1], 0], ["hstrlen", ["h", "b"], 1], ["hdel", ["h", "b", "none"], 1],
  ["hrandfield", ["h"], among("a", "c", "e")], ["hrandfield", ["h", 5, true], (got) => got.a === 3], ["hscan", ["h", 0], ([c, f]) => c === "0" && f.length === 6],
  // Lists
  ["rpush", ["l", "a", "b", { c: 1 }], 3], ["lpush", ["l", "z"], 4], ["lpushx", ["none", "z"], 0], ["rpushx", ["l", 7], 5], ["llen", ["l"], 5],
  ["lrange", ["l", 0, -1], ["z", "a", "b", { c: 1 }, 7]], ["lindex", ["l", 1], "a"], ["lset", ["l", 0, "y"], "OK"], ["linsert", ["l", "before", "a", "q"], 6],
  ["lpos", ["l", "a"], 2], ["lrem", ["l", 0, "q"], 1], ["ltrim", ["l", 0, 3], "OK"], ["lmove", ["l", "l2", "left", "right"], "y"],
  ["lpop", ["l"], "a"], ["rpop", ["l"], { c: 1 }], ["lmpop", [2, ["none", "l"], "LEFT", 2], ["l", ["b"]]], ["lpop", ["none"], null],
  // Sets
  ["sadd", ["t1", 1, 2, "x"], 3], ["sadd", ["t2", 2, "x", "y"], 3], ["scard", ["t1"], 3], ["sismember", ["t1", 2], 1], ["smismember", ["t1", [2, 9]], [1, 0]],
  ["smembers", ["t1"], sorted(1, 2, "x")], ["sinter", ["t1", "t2"], sorted(2, "x")], ["sintercard", [["t1", "t2"]], 2], ["sinterstore", ["t3", "t1", "t2"], 2],
  ["sunion", ["t1", "t2"], (g) => g.length === 4], ["sunionstore", ["t3", "t1", "t2"], 4], ["sdiff", ["t1", "t2"], [1]], ["sdiffstore", ["t4", "t1", "t2"], 1],
  ["smove", ["t1", "t4", "x"], 1], ["srandmember", ["t1"], among(1, 2)], ["spop", ["t4", 2], (g) => g.length === 2], ["srem", ["t1", 1, 99], 1], ["sscan", ["t3", 0], ([c, m]) => c === "0" && m.length === 4],
  // Sorted sets
  ["zadd", ["z", { score: 1, member: "a" }, { score: 2, member: "b" }, { score: 3.5, member: { c: 1 } }], 3], ["zadd", ["z", { xx: true, incr: true }, { score: 1, member: "a" }], 2],
  ["zcard", ["z"], 3], ["zcount", ["z", 2, "+inf"], 3], ["zscore", ["z", { c: 1 }], 3.5], ["zmscore", ["z", ["a", "none"]], [2, null]], ["zincrby", ["z", 2, "b"], 4],
  ["zrank", ["z", "a"], 0], ["zrevrank", ["z", "a"], 2], ["zrange", ["z", 0, -1], ["a", { c: 1 }, "b"]], ["zrange", ["z", 0, 0, { withScores: true, rev: true }], ["b", 4]],
  ["zscore", ["z", "none"], null], ["zlexcount", ["z", "-", "+"], 3], ["zadd", ["z2", { score: 5, member: "a" }], 1], ["zunion", [2, ["z", "z2"], { aggregate: "sum" }], [{ c: 1 }, "b", "a"]],
  ["zunionstore", ["z3", 2, ["z", "z2"]], 3], ["zinterstore", ["z4", 2, ["z", "z2"], { weights: [2, 1] }], 1], ["zdiffstore", ["z5", 2, "z", "z2"], 2],
  ["zpopmin", ["z3"], [{ c: 1 }, 3.5]], ["zpopmax", ["z3", 1], ["a", 7]], ["zscan", ["z", 0], ([c, m]) => c === "0" && m.length === 6], ["zrem", ["z", "a"], 1],
  ["zremrangebyrank", ["z4", 0, -1], 1], ["zremrangebyscore", ["z5", "-inf", "+inf"], 2], ["zadd", ["zl", { score: 0, member: "x" }], 1], ["zremrangebylex", ["zl", "-", "+"], 1],
  // Geography and cardinality
  ["geoadd", ["g", { longitude: 13.361389, latitude: 38.115556, member: "P" }, { longitude: 15.087269, latitude: 37.502669, member: "C" }], 2],
  ["geodist", ["g", "P", "C", "KM"], between(166, 167)], ["geohash", ["g", ["P", "none"]], ["sqc8b49rny0", null]], ["geopos", ["g", "P", "none"], (got) => Math.abs(got[0].lng - 13.36) < 0.01],
  ["geosearch", ["g", { type: "FROMMEMBER", member: "P" }, { type: "BYRADIUS", radius: 200, radiusType: "KM" }, "ASC"], [{ member: "P" }, { member: "C" }]],
  ["geosearchstore", ["g2", "g", { type: "FROMMEMBER", member: "P" }, { type: "BYRADIUS", radius: 200, radiusType: "KM" }, "ASC"], 2],
  ["pfadd", ["p", "a", "b"], 1], ["pfcount", ["p"], 2], ["pfmerge", ["p2", "p"], "OK"],
  // Streams
  ["xadd", ["x", "1-1", { f: "v", n: 1 }], "1-1"], ["xadd", ["x", "*", { f: "w" }, { trim: { type: "MAXLEN", threshold: 100, comparison: "=" } }], (id) => /^\d+-\d+$/.test(id)],
  ["xlen", ["x"], 2], ["xrange", ["x", "-", "+"], (got) => JSON.stringify(got["1-1"]) === '{"f":"v","n":1}'], ["xrevrange", ["x", "+", "-", 1], (got) => Object.keys(got).length === 1],
  ["xread", ["x", "0"], (got) => got[0][0] === "x" && got[0][1].length === 2], ["xgroup", ["x", { type: "CREATE", group: "g", id: "0" }], "OK"],
  ["xreadgroup", ["g", "c", "x", ">"], (got) => got[0][1].length === 2], ["xpending", ["x", "g", "-", "+", 10], (got) => got.length === 2 && got[0][1] === "c"], ["xack", ["x", "g", "1-1"], 1],
  ["xclaim", ["x", "g", "d", 0, "1-1"], any], ["xautoclaim", ["x", "g", "d", 0, "0-0", { count: 10 }], (got) => got[1].length === 1], ["xinfo", ["x", { type: "GROUPS" }], (got) => got.length === 1],
  ["xtrim", ["x", { strategy: "MAXLEN", threshold: 1, exactness: "=" }], 1], ["xdel", ["x", "1-1"], 0],
  // The server
  ["echo", ["hi"], "hi"], ["ping", [], "PONG"], ["time", [], (got) => got.length === 2], ["publish", ["c", "m"], 0], ["exec", [["SET", "raw", 1]], "OK"],
  ["flushdb", [], "OK"], ["dbsize", [], 0], ["flushall", [], "OK"],
];

// What this client has and Redis 7.0 has not, by the version that brought it; or what sends no command of its own.
export const beyond = {
  "Redis 7.2": ["clientSetinfo"],
  "Redis 7.4": ["hexpire", "hexpireat", "hexpiretime", "hpersist", "hpexpire", "hpexpireat", "hpexpiretime", "hpttl", "httl"],
  "Redis 8": ["hgetdel", "hgetex", "hsetex", "xackdel", "xdelex", "vector"],
  "Upstash only": [
    "arcount", "ardel", "ardelrange", "arget", "argetrange", "argrep", "arinfo", "arinsert", "arlastitems", "arlen", "armget", "armset", "arnext", "arop", "arring", "arscan",
    "arseek", "arset", "json", "search",
  ],
  "no command": [
    "addTelemetry", "autoPipelineExecutor", "client", "constructor", "createScript", "enableAutoPipelining", "enableTelemetry", "opts", "readYourWritesSyncToken", "use",
  ],
};

// What is more than one command and one answer.
import { createHash, randomBytes } from "node:crypto";
import { Redis } from "@upstash/redis";
import { check, noting, throws, until } from "./harness.mjs";

export async function wire(options) {
  const redis = noting(new Redis(options));
  await pipelines(redis, options);
  await values(options);
  await scripts(redis);
  await functions(redis);
  await subscriptions(redis);
  await consistency(redis, options);
  await errors(redis, options);
  await redis.flushall();
}

async function pipelines(redis, options) {
  await check("pipeline", () => redis.pipeline().set("a", { n: 1 }).get("a").incr("b").exec(), ["OK", { n: 1 }, 1]);
  const kept = () => redis.pipeline().set("a", "x").incr("a").get("a").exec({ keepErrors: true });
  await check("pipeline keeps errors", kept, (got) => got[0].result === "OK" && got[1].error.includes("not an integer") && got[2].result === "x");
  await throws("pipeline throws", () => redis.pipeline().set("a", "x").incr("a").exec(), "not an integer");
  await check("multi", () => redis.multi().set("t", 1).incr("t").mget("t", "none").exec(), ["OK", 2, [2, null]]);
  await throws("multi with an error", () => redis.multi().set("t", "x").incr("t").exec(), "not an integer");
  const long = redis.pipeline();
  for (let i = 0; i < 1000; i++) long.incr("long");
  await check("a pipeline of a thousand", async () => (await long.exec()).at(-1), 1000);
  const auto = noting(new Redis({ ...options, enableAutoPipelining: true }));
  await check("auto-pipelined writes", () => Promise.all([auto.set("p", 1), auto.incr("p"), auto.hset("ph", { f: 1 })]), ["OK", 2, 1]);
  await check("auto-pipelined reads", () => Promise.all([auto.get("p"), auto.hget("ph", "f"), auto.strlen("p")]), [2, 1, 1]);
  await check("they went together", () => auto.pipelineCounter, 2);
  const explicit = redis.autoPipeline();
  await check("autoPipeline()", () => Promise.all([explicit.incr("q"), explicit.incr("q")]), [1, 2]);
  await check("bitfield", () => redis.bitfield("bf").set("u8", 0, 200).incrby("u8", 0, 10).get("u8", 0).overflow("FAIL").incrby("u8", 0, 255).exec(), [0, 210, 210, null]);
}

async function values(options) {
  const plain = new Redis({ ...options, automaticDeserialization: false });
  for (const text of ["", " ", "null", "true", "9007199254740993", "101660004000155481467", "1e400", "日本語 🎉", "a\u0000b\r\n\"\\", "x".repeat(1 << 20)]) {
    await check(`text of ${text.length}`, async () => (await plain.set("v", text), plain.get("v")), text);
  }
  const typed = new Redis(options);
  await check("big numbers stay text", async () => (await typed.set("big", "9007199254740993"), typed.get("big")), (got) => String(got) === "9007199254740993");
  await check("beyond 64 bits", async () => (await typed.set("big", "101660004000155481467"), typed.get("big")), (got) => String(got) === "101660004000155481467");
  await check("a counter at the end", async () => (await plain.set("i", "9223372036854775806"), await plain.incr("i"), plain.get("i")), "9223372036854775807");
  for (const value of [0, -1, 1.5, true, null, [], {}, [1, [2, { a: null }]], { "ключ": "значение" }]) {
    await check(`value ${JSON.stringify(value)}`, async () => (await typed.set("v", value), typed.get("v")), value);
  }
  // Bytes that are no text: read raw, and written in the path style, whose body is not JSON.
  const bytes = randomBytes(4096);
  const headers = { authorization: `Bearer ${options.token}` };
  await fetch(`${options.url}/set/bytes`, { method: "POST", headers, body: bytes });
  await check("bytes", async () => {
    const response = await fetch(`${options.url}/get/bytes`, { headers: { ...headers, "Upstash-Encoding": "base64" } });
    return Buffer.from((await response.json()).result, "base64").equals(bytes);
  }, true);
  const unencoded = new Redis({ ...options, responseEncoding: false });
  await check("without base64", async () => (await unencoded.set("v", "é"), unencoded.mget("v", "none")), ["é", null]);
}

async function scripts(redis) {
  const text = "return {KEYS[1], ARGV[1], redis.call('INCR', KEYS[1])}";
  const sha = createHash("sha1").update(text).digest("hex");
  await check("eval", () => redis.eval(text, ["k"], ["v"]), ["k", "v", 1]);
  await check("scriptLoad", () => redis.scriptLoad(text), sha);
  await check("scriptExists", () => redis.scriptExists(sha, "0".repeat(40)), [1, 0]);
  await check("evalsha", () => redis.evalsha(sha, ["k"], ["v"]), ["k", "v", 2]);
  await check("evalRo", () => redis.evalRo("return redis.call('GET', KEYS[1])", ["k"], []), 2);
  const reads = await redis.scriptLoad("return ARGV[1]");
  await check("evalshaRo", () => redis.evalshaRo(reads, [], ["x"]), "x");
  await check("scriptFlush", () => redis.scriptFlush(), "OK");
  await throws("an unknown script", () => redis.evalsha(sha, ["k"], ["v"]), "NOSCRIPT");
  const script = redis.createScript(text);
  await check("createScript", async () => [(await script.exec(["k"], ["v"]))[2], (await script.evalsha(["k"], ["v"]))[2]], [3, 4]);
  const locking = redis.createScript(`#!lua flags=allow-key-locking\n${text}`);
  await check("key-locking", async () => [(await locking.exec(["k"], ["v"]))[2], (await locking.exec(["k"], ["v"]))[2]], [5, 6]);
  await throws("an error in a script", () => redis.eval("return redis.call('LPUSH', KEYS[1], 1)", ["k"], []), "WRONGTYPE");
}

async function functions(redis) {
  const code = "#!lua name=lib\nredis.register_function{function_name='f', callback=function(k, a) return a[1] end, flags={'no-writes'}}";
  const f = redis.functions;
  await check("functions.load", () => f.load({ code, replace: true }), "lib");
  await check("functions.call", () => f.call("f", [], ["x"]), "x");
  await check("functions.callRo", () => f.callRo("f", [], ["x"]), "x");
  await check("functions.list", () => f.list(), (got) => got.length === 1 && got[0].libraryName === "lib");
  await check("functions.stats", () => f.stats(), (got) => JSON.stringify(got).includes("1"));
  await check("functions.delete", () => f.delete("lib"), "OK");
  await check("functions.flush", () => f.flush(), "OK");
}

async function subscriptions(redis) {
  const got = [];
  const channel = redis.subscribe(["news"]);
  const pattern = redis.psubscribe(["ne*"]);
  let subscribed = 0;
  channel.on("subscribe", () => (subscribed += 1));
  pattern.on("psubscribe", () => (subscribed += 1));
  channel.on("message", ({ channel, message }) => got.push([channel, message]));
  pattern.on("pmessage", ({ pattern, channel, message }) => got.push([pattern, channel, message]));
  await check("subscribe", () => until(() => subscribed === 2), true);
  await check("publish", () => redis.publish("news", { a: "x, y" }), 2);
  await check("messages", async () => (await until(() => got.length === 2), got.map((m) => JSON.stringify(m)).sort()), ['["ne*","news",{"a":"x, y"}]', '["news",{"a":"x, y"}]']);
  await channel.unsubscribe();
  await pattern.unsubscribe();
  await check("unsubscribe", () => until(async () => (await redis.publish("news", "m")) === 0), true);
}

async function consistency(redis, options) {
  await check("read your writes", async () => {
    for (let i = 0; i < 50; i++) {
      await redis.set("ryw", i);
      if ((await redis.get("ryw")) !== i) return i;
    }
    return "always";
  }, "always");
  await check("the sync token changes", async () => {
    const tokens = new Set();
    for (let i = 0; i < 5; i++) tokens.add((await redis.ping(), redis.readYourWritesSyncToken));
    return tokens.size === 5 && !tokens.has("");
  }, true);
  const many = Array.from({ length: 50 }, (_, i) => new Redis(options).set(`own${i}`, i).then(() => redis.get(`own${i}`)));
  await check("fifty clients at once", () => Promise.all(many), (got) => got.every((value, i) => value === i));
}

async function errors(redis, options) {
  await throws("a wrong token", () => new Redis({ ...options, token: "wrong" }).get("a"), "WRONGPASS");
  await throws("an unknown command", () => redis.exec(["NOSUCH", "x"]), "unknown command");
  await throws("a wrong type", async () => (await redis.lpush("list", 1), redis.incr("list")), "WRONGTYPE");
  await throws("a blocking command", () => redis.exec(["BLPOP", "list", "0"]), "not available over REST");
}

// Runs the published clients against a bridge: UPSTASH_REDIS_REST_URL and UPSTASH_REDIS_REST_TOKEN say which.
// The database is emptied. Prints one JSON document; exits with 1 when anything fails.
import { Redis } from "@upstash/redis";
import { Ratelimit } from "@upstash/ratelimit";
import { Ratelimit as Ratelimit20 } from "upstash-ratelimit-2.0";
import { called, check, noting, report } from "./harness.mjs";
import { beyond, rows } from "./methods.mjs";
import { ratelimit } from "./ratelimit.mjs";
import { wire } from "./wire.mjs";

const options = {
  url: process.env.UPSTASH_REDIS_REST_URL,
  token: process.env.UPSTASH_REDIS_REST_TOKEN,
  retry: false,
  enableTelemetry: false,
  // Switched on where it is what is tested: it sends reads and writes apart, and bitfield() not at all.
  enableAutoPipelining: false,
};

async function methods() {
  const redis = noting(new Redis(options));
  await redis.flushall();
  for (const [method, args, expected] of rows) {
    await check(`${method}(${args.map((arg) => JSON.stringify(arg)).join(", ")})`, () => redis[method](...args), expected);
  }
}

/** Every method there is was called, or is known to be beyond Redis 7.0. */
async function coverage() {
  const known = new Set(Object.values(beyond).flat());
  const redis = new Redis(options);
  const names = new Set();
  for (let part = redis; part && part !== Object.prototype; part = Object.getPrototypeOf(part)) {
    Object.getOwnPropertyNames(part).forEach((name) => names.add(name));
  }
  names.delete("functions");
  await check("no method is left out", () => [...names].filter((name) => !called.has(name) && !known.has(name)), []);
}

await methods();
await wire(options);
await ratelimit("2.2", Ratelimit, options);
await ratelimit("2.0", Ratelimit20, options);
await coverage();
process.stdout.write(`${JSON.stringify(report)}\n`, () => process.exit(report.failed === 0 ? 0 : 1));

// The single-region algorithms of @upstash/ratelimit, in its newest version and one of the 2.0 line.
import { Redis } from "@upstash/redis";
import { check, noting } from "./harness.mjs";

export async function ratelimit(version, Ratelimit, options) {
  const redis = noting(new Redis(options));
  const algorithms = {
    fixedWindow: Ratelimit.fixedWindow(5, "60 s"),
    slidingWindow: Ratelimit.slidingWindow(5, "60 s"),
    tokenBucket: Ratelimit.tokenBucket(5, "60 s", 5),
    cachedFixedWindow: Ratelimit.cachedFixedWindow(5, "60 s"),
  };
  for (const [name, limiter] of Object.entries(algorithms)) {
    // A cached window answers from memory first; every other one must not.
    const cached = name === "cachedFixedWindow";
    const limit = new Ratelimit({ redis, limiter, prefix: `${version}:${name}`, ephemeralCache: cached ? new Map() : false, analytics: false });
    const title = (what) => `ratelimit ${version} ${name}: ${what}`;
    const user = `user ${Math.random()}`;
    // A minute that ends in between would start a new window: wait for the next one.
    const rest = 60_000 - (Date.now() % 60_000);
    if (rest < 5_000) await new Promise((resolve) => setTimeout(resolve, rest + 50));
    const answers = [];
    for (let i = 0; i < 7; i++) {
      const answer = await limit.limit(user);
      await answer.pending;
      answers.push(answer);
    }
    // 2.0 counts a cached window in its own memory, and there refuses the last one.
    const last = !(cached && version === "2.0");
    await check(title("five pass and two do not"), () => answers.map((a) => a.success), [true, true, true, true, last, false, false]);
    await check(title("remaining counts down"), () => answers.slice(0, 5).map((a) => a.remaining), [4, 3, 2, 1, 0]);
    await check(title("the limit is told"), () => answers.map((a) => a.limit), Array(7).fill(5));
    await check(title("reset is within a minute"), () => answers[6].reset - Date.now(), (wait) => wait > 0 && wait <= 61_000);
    await check(title("others are not affected"), async () => (await limit.limit("another")).success, true);
    await check(title("getRemaining"), async () => remaining(await limit.getRemaining(user)), 0);
    await limit.resetUsedTokens(user);
    await check(title("reset gives all back"), async () => remaining(await limit.getRemaining(user)), 5);
    await check(title("and lets pass again"), async () => (await limit.limit(user)).success, true);
    await check(title("a rate of three"), async () => (await limit.limit(user, { rate: 3 })).remaining, 1);
    await redis.scriptFlush();
    await check(title("goes on after SCRIPT FLUSH"), async () => (await limit.limit(user)).remaining, 0);
    await check(title("two hundred at once"), async () => {
      const all = await Promise.all(Array.from({ length: 200 }, () => limit.limit(`${user} crowd`)));
      return all.filter((answer) => answer.success).length;
    }, 5);
  }
  await redis.flushall();
}

// Older versions give a number.
const remaining = (answer) => answer.remaining ?? answer;

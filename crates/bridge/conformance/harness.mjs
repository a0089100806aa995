// Counts what holds and what does not, and knows which client methods were called.
import { isDeepStrictEqual } from "node:util";

export const report = { passed: 0, failed: 0, failures: [] };
export const called = new Set();

function fail(name, text) {
  report.failed += 1;
  report.failures.push(`${name}: ${text}`);
}

const show = (value) => (typeof value === "function" ? value.toString() : JSON.stringify(value));

/** Runs one check; `expected` is a value or a predicate. */
export async function check(name, act, expected) {
  let got;
  try {
    got = await act();
  } catch (error) {
    return fail(name, `threw ${error?.message ?? error}`);
  }
  const holds = typeof expected === "function" ? expected(got) : isDeepStrictEqual(got, expected);
  if (holds) report.passed += 1;
  else fail(name, `expected ${show(expected)}, got ${show(got)}`);
  return got;
}

/** The call must fail, with this text in its error. */
export async function throws(name, act, text) {
  try {
    const got = await act();
    fail(name, `expected an error with ${text}, got ${show(got)}`);
  } catch (error) {
    if (String(error?.message).includes(text)) report.passed += 1;
    else fail(name, `expected an error with ${text}, got ${error?.message}`);
  }
}

/** Polls until `holds`, for at most ten seconds. */
export async function until(holds) {
  const deadline = Date.now() + 10_000;
  while (!(await holds())) {
    if (Date.now() > deadline) return false;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return true;
}

/** The client, noting each method that is called on it. */
export function noting(redis) {
  return new Proxy(redis, {
    get(target, name) {
      const value = target[name];
      if (typeof value !== "function") return value;
      return (...args) => {
        called.add(name);
        return value.apply(target, args);
      };
    },
  });
}

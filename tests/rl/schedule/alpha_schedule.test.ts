import assert from "node:assert/strict";
import { alphaAt, type AlphaSchedule } from "../../../src/rl/schedule/alpha_schedule.ts";

const schedule = (kind: AlphaSchedule["schedule"], rest: Partial<AlphaSchedule> = {}) => ({
  schedule: kind,
  initial: 0.1,
  minimum: 0.001,
  decayFraction: 1,
  ...rest,
});
const close = (actual: number, expected: number) =>
  assert.ok(Math.abs(actual - expected) < 1e-12, `${actual} is not ${expected}`);

Deno.test("exp falls from start to minimum over f T steps and stays there", () => {
  close(alphaAt(schedule("exp"), 0, 300), 0.1);
  close(alphaAt(schedule("exp"), 150, 300), 0.01);
  close(alphaAt(schedule("exp"), 300, 300), 0.001);
  close(alphaAt(schedule("exp"), 900, 300), 0.001);
  close(alphaAt(schedule("exp", { decayFraction: 0.5 }), 75, 300), 0.01);
});

Deno.test("linear and cosine meet halfway and end at the minimum", () => {
  for (const decay of ["linear", "cosine"] as const) {
    close(alphaAt(schedule(decay), 0, 10), 0.1);
    close(alphaAt(schedule(decay), 5, 10), 0.0505);
    close(alphaAt(schedule(decay), 10, 10), 0.001);
    close(alphaAt(schedule(decay), 20, 10), 0.001);
  }
  close(alphaAt(schedule("cosine"), 10 / 3, 10), 0.001 + 0.5 * 0.099 * 1.5);
});

Deno.test("none keeps the start, start 0 is 0 under every decay, the warm-up has none", () => {
  assert.equal(alphaAt(schedule("none"), 7, 10), 0.1);
  assert.equal(alphaAt(schedule("exp", { initial: 0 }), 7, 10), 0);
  assert.equal(alphaAt(schedule("linear"), -1, 10), 0);
});

Deno.test("schedules that cannot work are refused", () => {
  for (
    const rest of [{ initial: 2 }, { minimum: 0.2 }, { minimum: 0 }, { decayFraction: 0 }, {
      initial: NaN,
    }]
  ) assert.throws(() => alphaAt(schedule("exp", rest), 0, 10), /^Error: alpha \w+.*: found/);
});

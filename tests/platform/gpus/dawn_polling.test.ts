/** How often Dawn's GPUs are looked at: each look leaves something behind, see `DawnPolling`. */

import assert from "node:assert/strict";
import { DawnPolling } from "../../../src/platform/gpus/dawn_polling.ts";

/** Looks one after the other, as dawn.node does, until a time has passed. */
async function looksWithin(polling: DawnPolling, milliseconds: number): Promise<number> {
  const end = performance.now() + milliseconds;
  let looks = 0;
  polling.waitBegins();
  await new Promise<void>((resolve) => {
    const look = () => {
      looks++;
      if (performance.now() < end) polling.later(look);
      else resolve();
    };
    polling.later(look);
  });
  return looks;
}

const soon = (call: () => void) => setTimeout(call, 0);

Deno.test("dawn polling: a wait is looked at the less often the longer it lasts", async () => {
  for (const isOnCpu of [true, false]) {
    const polling = new DawnPolling(queueMicrotask, () => {});
    polling.isOnCpu = isOnCpu;
    const looks = await looksWithin(polling, 1000);
    // 64 until the pauses grow, 64 for each factor e from there to their end, 100 a second from there on. In the eager
    // beginning as many as this machine makes.
    const most = 64 + 64 * Math.log(10 / 0.05) + 100;
    if (isOnCpu) assert.ok(looks < most, `${looks} looks`);
    else assert.ok(looks < most + 4000, `${looks} looks`);
  }
});

Deno.test("dawn polling: what is asked of the GPU during a pause ends it", async () => {
  const polling = new DawnPolling(soon, () => {});
  await looksWithin(polling, 700);
  // From here on the pauses are the longest. One that began earlier is not waited for.
  let looked = false;
  polling.later(() => looked = true);
  polling.waitBegins();
  await new Promise((resolve) => soon(() => resolve(null)));
  await new Promise((resolve) => soon(() => resolve(null)));
  assert.ok(looked);
});

Deno.test("dawn polling: what looks leave behind is collected before it is much", () => {
  let collections = 0;
  const waiting: (() => void)[] = [];
  const polling = new DawnPolling((call) => waiting.push(call), () => collections++);
  for (let looks = 1; looks <= 8192 + 1; looks++) {
    polling.waitBegins();
    polling.later(() => {});
    waiting.pop()?.();
    assert.equal(collections, Math.floor(looks / 8192));
  }
});

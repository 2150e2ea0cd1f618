import assert from "node:assert/strict";
import { configuration, withServer } from "./client.ts";
import { breath } from "./written_run.ts";

/** Processes of this one that plan. */
function planners(): number[] {
  return [...Deno.readDirSync("/proc")].map(({ name }) => Number(name)).filter((pid) => {
    try {
      const parent = /\) \S (\d+)/.exec(Deno.readTextFileSync(`/proc/${pid}/stat`))?.[1];
      const command = Deno.readTextFileSync(`/proc/${pid}/cmdline`);
      return Number(parent) === Deno.pid && command.includes("plan_process.ts");
    } catch {
      return false; // no process, or gone
    }
  });
}

Deno.test({
  name: "plan: a few at a time, without the server's token, and ended when nobody waits",
  // Processes of other tests end when they do.
  sanitizeOps: false,
  sanitizeResources: false,
  fn: () =>
    withServer(async (client) => {
      Deno.env.set("TANGO_TOKEN", "secret");
      using _without = { [Symbol.dispose]: () => Deno.env.delete("TANGO_TOKEN") };
      const body = { kind: "sft", configuration };
      const leaving = new AbortController();
      const ask = (signal?: AbortSignal) =>
        fetch(`${client.url}/api/plan`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify(body),
          signal,
        });
      const asked = Array.from({ length: 6 }, () =>
        ask(leaving.signal).then(async (response) => {
          await response.body?.cancel();
          return response.status;
        }));
      // The first answers are of those that are too many.
      assert.equal(await Promise.race(asked), 429);
      while (planners().length === 0) await breath();
      const [pid, ...others] = planners();
      assert.deepEqual(others, [], "one after the other");
      assert.doesNotMatch(Deno.readTextFileSync(`/proc/${pid}/environ`), /TANGO_TOKEN/);
      leaving.abort();
      await Promise.allSettled(asked);
      while (planners().length > 0) await breath();
      const { status, answer } = await client.send("POST", "/api/plan", body);
      assert.equal(status, 200, JSON.stringify(answer));
    }),
});

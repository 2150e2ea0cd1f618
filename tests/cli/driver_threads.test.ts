import assert from "node:assert/strict";
import { driverThreads } from "../../src/cli/driver_threads.ts";

Deno.test("processes on one machine share its cores, and of one core none hands its work to a thread", () => {
  const cores = navigator.hardwareConcurrency;
  const before = Deno.env.get("LP_NUM_THREADS");
  try {
    Deno.env.delete("LP_NUM_THREADS");
    assert.deepEqual(driverThreads(1), { LP_NUM_THREADS: cores > 1 ? `${cores}` : "0" });
    assert.deepEqual(driverThreads(cores), { LP_NUM_THREADS: "0" });
    assert.deepEqual(driverThreads(2 * cores), { LP_NUM_THREADS: "0" });
    Deno.env.set("LP_NUM_THREADS", "5");
    assert.deepEqual(driverThreads(cores), { LP_NUM_THREADS: "5" });
  } finally {
    if (before === undefined) Deno.env.delete("LP_NUM_THREADS");
    else Deno.env.set("LP_NUM_THREADS", before);
  }
});

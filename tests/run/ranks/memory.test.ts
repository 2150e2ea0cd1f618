/** The memory plan of each of several ranks. */

import assert from "node:assert/strict";
import { Gpu } from "../../../src/gpu/gpu.ts";
import { formatMemoryPlans, type MemoryPlan } from "../../../src/run/memory/memory_plan.ts";
import { trainWithReport } from "../../../src/run/session/training_session.ts";
import { onRanks } from "../../distributed/in_process.ts";
import { RankRuns } from "./rank_runs.ts";

Deno.test({
  name: "each of 2 ranks takes no more GPU memory than is planned for it, colocated and split",
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    await using runs = new RankRuns();
    const kinds = { both: null, split: { generator: "0", verifier: "1" } };
    for (const [name, placement] of Object.entries(kinds)) {
      const config = runs.config({ placement });
      const found = await onRanks(2, async (ranks) => {
        const gpu = await Gpu.open("native");
        let plans: readonly MemoryPlan[] = [];
        const onPlan = (all: readonly MemoryPlan[]) => plans = all;
        await trainWithReport(gpu, config, runs.path(name), { resume: false, ranks, onPlan });
        const { peakBytes } = gpu.pool;
        gpu.close();
        return { plans, peakBytes };
      });
      const [{ plans }] = found;
      for (const [rank, one] of found.entries()) {
        assert.deepEqual(one.plans, plans, "all ranks know what each takes");
        const { peakBytes: most, resident } = plans[rank];
        // Weights, gradients and this rank's moments; passes are smaller than the longest responses make them.
        const least = resident.reduce((sum, { bytes }) => sum + bytes, 0);
        const taken = `${name}, rank ${rank}: ${one.peakBytes} of ${least} to ${most}`;
        assert.ok(least <= one.peakBytes && one.peakBytes <= most, taken);
      }
      const text = formatMemoryPlans(plans);
      assert.equal(/^Rank 1:\n/m.test(text), placement !== null, text);
    }
  },
});

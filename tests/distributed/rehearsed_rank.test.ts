/** What a rank is planned to take of its GPU's memory is what it takes. */

import assert from "node:assert/strict";
import { gradientReducer } from "../../src/distributed/gradient_reducer.ts";
import { rehearsedRank } from "../../src/distributed/rehearsed_rank.ts";
import type { Reducer } from "../../src/engine/training/reducer.ts";
import { Gpu } from "../../src/gpu/gpu.ts";
import { kinds, steps, withTraining } from "../engine/training/small_training.ts";
import { onRanks } from "./in_process.ts";

/** GPU memory of a rank at most, in bytes, over two steps. */
async function peakOf(gpu: Gpu, kind: string, reducer: Reducer): Promise<number> {
  const training = { microBatchTokens: 8192, shards: 5, reducer };
  await withTraining(gpu, kinds[kind], training, (trainer) => steps(trainer, 2));
  return gpu.pool.peakBytes;
}

for (const kind of Object.keys(kinds)) {
  Deno.test({
    name: `${kind}: the memory of each of 1, 2 and 3 ranks, rehearsed without the others`,
    sanitizeOps: false,
    sanitizeResources: false,
    async fn() {
      for (const size of [1, 2, 3]) {
        const peaks = await onRanks(size, async (communicator) => {
          const gpu = await Gpu.open("native");
          const { rank } = communicator;
          const rehearsed = gradientReducer(rehearsedRank({ rank, size }));
          const planned = await peakOf(gpu.rehearsal(), kind, rehearsed);
          const taken = await peakOf(gpu, kind, gradientReducer(communicator));
          gpu.close();
          return { planned, taken };
        });
        for (const { planned, taken } of peaks) {
          // Of several flat tensors slices may arrive one at a time for which the plan counts two; with experts several
          // ranks take up to a tenth less than planned, and never more.
          if (kinds[kind].storage || kind.includes("experts")) {
            assert.ok(taken <= planned && planned <= 1.25 * taken);
          } else assert.equal(planned, taken);
        }
      }
    },
  });
}

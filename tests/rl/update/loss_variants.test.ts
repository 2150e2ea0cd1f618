/** Every objective and aggregation against its PyTorch transcription. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { policyLoss } from "../../../src/kernels/losses/policy_loss.ts";
import { sequenceOldLogProbs } from "../../../src/kernels/losses/sequence_old_log_probs.ts";
import type { ClippedObjective } from "../../../src/engine/training/losses.ts";
import { type LossAggregation, tokenWeights } from "../../../src/rl/update/token_weights.ts";
import { assertClose, onEveryGpu } from "../../kernels/harness.ts";

interface Variants {
  readonly lengths: readonly number[];
  readonly masked: readonly boolean[];
  readonly maximumLength: number;
  readonly clipLow: number;
  readonly clipHigh: number;
  readonly klCoefficient: number;
  readonly logProbs: readonly number[];
  readonly oldLogProbs: readonly number[];
  readonly refLogProbs: readonly number[];
  readonly advantages: readonly number[];
  readonly results: readonly {
    readonly objective: ClippedObjective;
    readonly aggregation: LossAggregation;
    readonly loss: number;
    readonly gradient: readonly number[];
  }[];
}

const file = join(import.meta.dirname ?? "", "..", "..", "fixtures", "loss_variants.json");
const variants: Variants = JSON.parse(Deno.readTextFileSync(file));

onEveryGpu("loss variants: the loss and its gradient are PyTorch's", async (gpu) => {
  const { lengths, masked, results, clipLow, clipHigh, klCoefficient } = variants;
  const rows = variants.logProbs.length;
  assert.equal(results.length, 9);
  const starts = [0];
  for (const length of lengths) starts.push(starts[starts.length - 1] + length);
  for (const { objective, aggregation, loss, gradient } of results) {
    const perResponse = tokenWeights(
      lengths.map((length, i) => ({ length, isMasked: masked[i] })),
      aggregation,
      variants.maximumLength,
    );
    assert.ok(perResponse);
    const weights = lengths.flatMap((length, i) => Array(length).fill(perResponse[i]));
    const vector = (values: readonly number[]) => gpu.from(Float32Array.from(values), [rows]);
    const made = gpu.scope(() => {
      const logProbs = vector(variants.logProbs);
      let oldLogProbs = vector(variants.oldLogProbs);
      if (objective === "gspo") {
        const adjusted = gpu.tensor([rows]);
        const cuts = gpu.from(Uint32Array.from(starts), [starts.length]);
        sequenceOldLogProbs(gpu, logProbs, oldLogProbs, cuts, adjusted);
        oldLogProbs = adjusted;
      }
      const outputs = {
        logProbGradient: gpu.tensor([rows]),
        entropyGradient: gpu.tensor([rows]),
        statistics: gpu.tensor([rows, 4]),
      };
      policyLoss(
        gpu,
        {
          logProbs,
          oldLogProbs,
          advantages: vector(variants.advantages),
          tokenWeights: vector(weights),
          refLogProbs: vector(variants.refLogProbs),
        },
        outputs,
        {
          objective: objective === "gspo" ? "ppo" : objective,
          clip: { clipRatioLow: clipLow, clipRatioHigh: clipHigh },
          kl: { coefficient: klCoefficient, estimator: "k3" },
          entropyCoefficient: 0,
        },
      );
      return [outputs.logProbGradient, outputs.statistics];
    }, (kept) => kept);
    const [actual, statistics] = await gpu.readAll(made);
    gpu.release(...made);
    const why = `${objective}, ${aggregation}: f32 exp of log-probs near 3 that are good to 2e-7`;
    assertClose(actual, gradient, { absolute: 3e-7, relative: 3e-6, why });
    const total = weights.reduce(
      (sum, weight, r) =>
        sum + weight * (statistics[4 * r] + klCoefficient * statistics[4 * r + 1]),
      0,
    );
    assert.ok(Math.abs(total - loss) < 2e-6, `${why}: ${total}, expected ${loss}`);
    const clipped = weights.filter((weight, r) => weight > 0 && statistics[4 * r + 3] === 1).length;
    assert.ok(clipped > 0, `${objective}: some token is clipped`);
  }
});

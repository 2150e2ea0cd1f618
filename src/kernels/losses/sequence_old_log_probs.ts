import type { Gpu } from "../../gpu/gpu.ts";
import type { Tensor } from "../../gpu/tensor.ts";
import { expectShape } from "../parts/expect_shape.ts";
import code from "./sequence_old_log_probs.wgsl" with { type: "text" };

/**
 * Old log-probs that give `policyLoss` the ratio of each token's sequence instead of the token's own:
 * exp of the mean of logProb - oldLogProb (GSPO, arXiv 2507.18071).
 *
 * @param logProbs [R]
 * @param oldLogProbs [R]
 * @param starts u32 [S + 1]: where each sequence's rows begin, and R; none is empty
 * @param adjusted [R]
 * @throws Error when the shapes do not fit
 */
export function sequenceOldLogProbs(
  gpu: Gpu,
  logProbs: Tensor,
  oldLogProbs: Tensor,
  starts: Tensor,
  adjusted: Tensor,
): void {
  const [rows] = logProbs.shape;
  expectShape("sequenceOldLogProbs", "oldLogProbs", oldLogProbs, [rows]);
  expectShape("sequenceOldLogProbs", "starts", starts, [-1], "u32");
  expectShape("sequenceOldLogProbs", "adjusted", adjusted, [rows]);
  const sequences = starts.shape[0] - 1;
  gpu.dispatch(
    { label: "sequence old log-probs", code },
    { sequences },
    { logProbs, oldLogProbs, starts, adjusted },
    gpu.grid(Math.ceil(sequences / 64)),
  );
}

import type { Tensor } from "../../gpu/tensor.ts";
import type { Model } from "../../model/decoder/model.ts";
import { lossGradient } from "./loss_gradient.ts";
import type { Loss, SequenceFor } from "./losses.ts";
import { forwardPass, gradientPass, type GradientPassOptions, packPass } from "./passes.ts";

/** Groups of sequences, each with a prompt in common. */
export type Groups<L extends Loss> = readonly (readonly SequenceFor<L>[])[];

/** Options of a pass. */
export interface LossPassOptions<L extends Loss> extends GradientPassOptions {
  readonly loss: L;
}

/**
 * One pass over some sequences that adds a loss's gradient to the model's. Call each step inside a scope.
 *
 * @yields as `backward` does
 * @returns log-probs [R], entropies [R] and, of a policy-gradient loss, its statistics, see `LossGradient`
 */
export function* lossPass<L extends Loss>(
  model: Model,
  groups: Groups<L>,
  { loss, ...options }: LossPassOptions<L>,
): Generator<number, Tensor[]> {
  const { gpu } = model;
  const input = packPass(gpu, groups);
  const reference = loss.name === "cross_entropy" ? null : loss.kl?.reference ?? null;
  const refLogProbs: Tensor | null = reference && gpu.scope(
    () => forwardPass(reference, input, options.inverseTemperature).logProbs,
    (kept) => [kept],
  );
  const { head, gradient } = yield* gradientPass(
    model,
    input,
    options,
    (head) => lossGradient(gpu, loss, groups.flat(), head, refLogProbs),
  );
  return [head.logProbs, head.entropy, ...(gradient.statistics ? [gradient.statistics] : [])];
}

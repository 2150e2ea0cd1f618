import type { Gpu } from "../../gpu/gpu.ts";
import type { Tensor } from "../../gpu/tensor.ts";
import { independentLanes } from "../../gpu/tuning.ts";
import { expectShape } from "../parts/expect_shape.ts";
import code from "./route.wgsl" with { type: "text" };

/** What a router makes of its logits: `softmax` over all experts, or `sigmoid` of each by itself. */
export const expertScores = ["softmax", "sigmoid"] as const;
export type ExpertScores = (typeof expertScores)[number];

/** How a router's logits become experts and their weights. */
export interface RouteOptions {
  /** E, at most the columns of the logits */
  readonly experts: number;
  /** k, at most E */
  readonly chosen: number;
  /** What logits become. */
  readonly scores: ExpertScores;
  /** [E] added to scores of `sigmoid` where experts are chosen, and nowhere else; null for none */
  readonly bias: Tensor | null;
  /** The weights of a token sum to `scale`. */
  readonly normalised: boolean;
  /** Multiplies the weights. */
  readonly scale: number;
}

/** The experts of T tokens, in the order of choice, and how much each counts. */
export interface Routes {
  /** u32 [T, k] */
  readonly experts: Tensor;
  /** f32 [T, k] */
  readonly weights: Tensor;
}

/**
 * Chooses each token's experts, those with the largest scores; of equal ones the lower comes first.
 *
 * @param logits [T, E, padded to a multiple of 4]
 * @throws Error when there are fewer experts than a token takes, or a shape does not fit
 */
export function route(gpu: Gpu, logits: Tensor, options: RouteOptions): Routes {
  const tokens = expectLogits("route", logits, options);
  const { chosen } = options;
  const experts = gpu.tensor([tokens, chosen], "u32", "chosen experts");
  const weights = gpu.tensor([tokens, chosen], "f32", "expert weights");
  launch(gpu, "route", logits, options, false, { logits, experts, weights });
  return { experts, weights };
}

/**
 * The gradient of `route` through the weights.
 *
 * @param logits as `route` had them
 * @param experts as it chose them
 * @param dWeights [T, k]
 * @returns as the logits, zeros in their padding
 */
export function routeBackward(
  gpu: Gpu,
  logits: Tensor,
  experts: Tensor,
  dWeights: Tensor,
  options: RouteOptions,
): Tensor {
  const operation = "route backward";
  const tokens = expectLogits(operation, logits, options);
  expectShape(operation, "experts", experts, [tokens, options.chosen], "u32");
  expectShape(operation, "dWeights", dWeights, [tokens, options.chosen]);
  const dLogits = gpu.tensor(logits.shape, "f32", "router gradient");
  launch(gpu, operation, logits, options, true, { logits, experts, dWeights, dLogits });
  return dLogits;
}

function expectLogits(
  operation: string,
  logits: Tensor,
  { experts, chosen, scores, bias }: RouteOptions,
): number {
  const [tokens, stride] = logits.shape;
  expectShape(operation, "logits", logits, [tokens, stride]);
  if (chosen < 1 || chosen > experts || experts > stride) {
    throw new Error(
      `${operation}: ${chosen} of ${experts} experts, whose logits have ${stride} columns`,
    );
  }
  if (bias && scores !== "sigmoid") throw new Error(`${operation}: a bias of ${scores}`);
  if (bias) expectShape(operation, "bias", bias, [experts]);
  return tokens;
}

function launch(
  gpu: Gpu,
  label: string,
  logits: Tensor,
  { experts, chosen, scores, bias, normalised, scale }: RouteOptions,
  isBackward: boolean,
  tensors: Readonly<Record<string, Tensor>>,
): void {
  const [tokens, stride] = logits.shape;
  const LANES = independentLanes(gpu.tuning);
  const BIASED = bias !== null && !isBackward;
  const kind = { SIGMOID: scores === "sigmoid", NORMALISED: normalised, BIASED };
  gpu.dispatch(
    { label, code, defines: { BACKWARD: isBackward, ...kind, LANES } },
    { tokens, experts, stride, chosen, scale },
    { ...tensors, ...(bias && BIASED ? { bias } : {}) },
    gpu.grid(Math.ceil(tokens / LANES)),
    { bytes: 4 * tokens * (2 * stride + 2 * chosen) },
  );
}

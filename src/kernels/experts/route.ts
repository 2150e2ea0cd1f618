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
  /** E of which some are chosen; with the one that all share at most the columns of the logits */
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
  /** Every token takes expert E last, by the sigmoid of its logit; not by default. */
  readonly shared?: boolean;
}

/** Experts of a token. */
const placesOf = ({ chosen, shared }: RouteOptions) => chosen + (shared ? 1 : 0);

/** The experts of T tokens, in the order of choice, and how much each counts. K is k, and one more where there is one shared. */
export interface Routes {
  /** u32 [T, K] */
  readonly experts: Tensor;
  /** f32 [T, K] */
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
  const places = placesOf(options);
  const experts = gpu.tensor([tokens, places], "u32", "chosen experts");
  const weights = gpu.tensor([tokens, places], "f32", "expert weights");
  launch(gpu, "route", logits, options, false, { logits, experts, weights });
  return { experts, weights };
}

/**
 * The gradient of `route` through the weights.
 *
 * @param logits as `route` had them
 * @param experts as it chose them
 * @param dWeights [T, K]
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
  expectShape(operation, "experts", experts, [tokens, placesOf(options)], "u32");
  expectShape(operation, "dWeights", dWeights, [tokens, placesOf(options)]);
  const dLogits = gpu.tensor(logits.shape, "f32", "router gradient");
  launch(gpu, operation, logits, options, true, { logits, experts, dWeights, dLogits });
  return dLogits;
}

function expectLogits(
  operation: string,
  logits: Tensor,
  { experts, chosen, scores, bias, shared }: RouteOptions,
): number {
  const [tokens, stride] = logits.shape;
  expectShape(operation, "logits", logits, [tokens, stride]);
  if (chosen < 1 || chosen > experts || experts + (shared ? 1 : 0) > stride) {
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
  { experts, chosen, scores, bias, normalised, scale, shared = false }: RouteOptions,
  isBackward: boolean,
  tensors: Readonly<Record<string, Tensor>>,
): void {
  const [tokens, stride] = logits.shape;
  const LANES = independentLanes(gpu.tuning);
  const BIASED = bias !== null && !isBackward;
  const kind = { SIGMOID: scores === "sigmoid", NORMALISED: normalised, BIASED, SHARED: shared };
  gpu.dispatch(
    { label, code, defines: { BACKWARD: isBackward, ...kind, LANES } },
    { tokens, experts, stride, chosen, scale },
    { ...tensors, ...(bias && BIASED ? { bias } : {}) },
    gpu.grid(Math.ceil(tokens / LANES)),
    { bytes: 4 * tokens * (2 * stride + 2 * chosen) },
  );
}

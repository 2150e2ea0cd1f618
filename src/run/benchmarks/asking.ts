import { Digest } from "../../platform/files/digest.ts";
import type { Sampling } from "../../engine/sampling/rollout.ts";
import { streams } from "../../random/philox.ts";
import { AnswersLog } from "../answers/answers_log.ts";
import type { TangoConfig } from "../config/config_schema.ts";
import { rolloutSampling } from "../tango/held_out_evaluation.ts";
import { policyOf } from "../tango/load_policy.ts";
import type { Role } from "./roles.ts";

/** A way to ask: the likeliest answer alone, or a number of samples. */
export interface Way {
  readonly sampling: Sampling;
  /** Answers to each problem. */
  readonly count: number;
}

/** Problems of a benchmark that are asked in one way, and what was answered so far. */
export interface Asking<Problem> extends Way {
  /** For people. */
  readonly name: string;
  /** Those that are wanted, from the first on. */
  readonly problems: readonly Problem[];
  readonly log: AnswersLog;
}

/** The likeliest answer. */
export function greedily(config: TangoConfig): Way {
  const { sampling, count } = sampled(config, 1);
  return { sampling: { ...sampling, temperature: 0 }, count };
}

/** So many samples as the configuration draws them. */
export function sampled(config: TangoConfig, count: number): Way {
  const { seed } = config.evaluation;
  return { sampling: { ...rolloutSampling(config, streams.benchmarks, 0), seed }, count };
}

/**
 * The digest of all that a policy's answers to a benchmark depend on. How many of its problems are taken is none of it:
 * they are asked one by one, from the first on, so that a part of a benchmark is the beginning of the whole.
 *
 * @param weights the model's digest
 * @param problems all of them
 */
export function askedDigest<Problem, Variable extends string>(
  config: TangoConfig,
  { policy, template, values }: Role<Problem, Variable>,
  weights: string,
  problems: readonly Problem[],
  { sampling: { temperature, topK, topP, minP, seed }, count }: Way,
): string {
  const { precision, frozen_dtype, cache_dtype } = config;
  const { chat, system_prompt, max_response_length, prompt_template } = policyOf(config, policy);
  const prompt = template(prompt_template);
  const way = temperature === 0 ? "greedy" : [temperature, topK, topP, minP, seed, count];
  return new Digest()
    .value([weights, precision, frozen_dtype, cache_dtype, chat, system_prompt])
    .value([max_response_length, way])
    .value(problems.map((problem) => prompt.render(values(problem))))
    .hex();
}

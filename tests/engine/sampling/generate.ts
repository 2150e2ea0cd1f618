import {
  rollout,
  type RolloutOptions,
  type RolloutRequest,
  type RolloutResponse,
} from "../../../src/engine/sampling/rollout.ts";
import { Sampler, type SamplerOptions } from "../../../src/engine/sampling/sampler.ts";
import type { Model } from "../../../src/model/decoder/model.ts";

/** How a rollout is made and by what kind of sampler. */
export interface GenerateOptions extends RolloutOptions, SamplerOptions {}

/** A rollout by a sampler of its own. */
export async function generate(
  model: Model,
  requests: readonly RolloutRequest[],
  options: GenerateOptions,
): Promise<RolloutResponse[][]> {
  const sampler = new Sampler(model, options);
  try {
    return await rollout(sampler, requests, options);
  } finally {
    sampler.close();
  }
}

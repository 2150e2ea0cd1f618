import {
  messagesArrive,
  rollout,
  type RolloutRequest,
  type ToldSampling,
} from "../engine/sampling/rollout.ts";
import { type Policy, type PolicyEngine, versionOf } from "./policy.ts";
import type { AskedAhead, Sampled } from "./sampled_ahead.ts";

/**
 * Asks for `count` responses to each prompt. A response's random numbers depend on its place among all
 * responses of the step, not on how they are batched or spread over ranks.
 */
export function requests(
  prompts: readonly Uint32Array[],
  count: number,
  firstSequence = 0,
): RolloutRequest[] {
  return prompts.map((prompt, p) => ({
    prompt,
    sequenceIds: Array.from({ length: count }, (_, i) => firstSequence + p * count + i),
  }));
}

/** The most tokens that the responses to a prompt may take, by which they are cut over ranks. */
export function mostTokens(
  { maximumResponse }: Policy<unknown>,
  { prompt, sequenceIds }: RolloutRequest,
): number {
  return prompt.length + sequenceIds.length * maximumResponse;
}

/** Listener to the sampling of responses. */
export interface RespondListener {
  /** Told each response as soon as it is there, and the place of its request. */
  ended?(sampled: Sampled, request: number): void;
  /** Called between two steps of the sampler; what it throws ends the sampling. */
  between?(): void;
}

/**
 * Samples responses on this rank.
 *
 * @returns for each request its responses
 */
export async function respond(
  engine: PolicyEngine,
  { stopTokens, maximumResponse, engine: { all } }: Policy<unknown>,
  asked: readonly RolloutRequest[],
  sampling: ToldSampling,
  listener: RespondListener = {},
): Promise<Sampled[][]> {
  const { sampler } = engine;
  const known = engine.ahead.take(askedOf(engine, asked, sampling));
  if (known) {
    known.forEach((group, r) => group.forEach((sampled) => listener.ended?.(sampled, r)));
    return known;
  }
  const version = versionOf(engine);
  const options = { ...sampling, stopTokens, maximumResponse };
  try {
    const groups = await rollout(sampler, asked, options, {
      ended: (rollout, r) => listener.ended?.({ rollout, version }, r),
      between: async () => {
        listener.between?.();
        if (all.size > 1) await messagesArrive();
      },
    });
    return groups.map((group) => group.map((rollout) => ({ rollout, version })));
  } finally {
    // Training needs the memory.
    sampler.release();
  }
}

/** The request for responses: all that they depend on. */
export function askedOf(
  { model: { weightsVersion } }: PolicyEngine,
  asked: readonly RolloutRequest[],
  sampling: ToldSampling,
): AskedAhead {
  const prompts = asked.map(({ prompt, sequenceIds }) => ({ prompt, sequenceIds }));
  return { prompts, sampling, weightsVersion };
}

import { isDeepStrictEqual } from "../platform/system/deep_equal.ts";
import type { RolloutRequest, RolloutResponse, Sampling } from "../engine/sampling/rollout.ts";

/** A response and the version of the policy that wrote it. */
export interface Sampled {
  readonly rollout: RolloutResponse;
  /** Updates that the policy had had. */
  readonly version: number;
}

/** A request for responses: all that they depend on. */
export interface AskedAhead {
  readonly prompts: readonly RolloutRequest[];
  readonly sampling: Sampling;
  readonly weightsVersion: number;
}

/** Responses that were sampled before they are asked for, while other ranks were busy. */
export class SampledAhead {
  #held: { readonly asked: AskedAhead; readonly groups: Sampled[][] } | null = null;

  /** Keeps responses; those kept before are forgotten. */
  keep(asked: AskedAhead, groups: Sampled[][]): void {
    this.#held = { asked, groups };
  }

  /** The responses, when they are the ones that are kept. */
  take(asked: AskedAhead): Sampled[][] | null {
    const held = this.#held;
    if (held === null || !isDeepStrictEqual(held.asked, asked)) return null;
    this.#held = null;
    return held.groups;
  }
}

import type { KernelRates } from "./gpu_description.ts";
import type { PolicyWork } from "./rehearsed_work.ts";
import { workSeconds } from "./work.ts";

/** A response to be sampled. */
export interface PlannedResponse {
  /** Tokens before it. */
  readonly promptTokens: number;
  /** Prompt tokens that nobody has computed when its turn comes. */
  readonly newTokens: number;
  readonly length: number;
}

/** How a sampler works, see `SamplerOptions`. */
export interface SamplingSettings {
  readonly slots: number;
  readonly stepsBetweenReadbacks: number;
}

/** Time that sampling takes. */
export interface SamplingCost {
  readonly seconds: number;
  /** Seconds in which fewer than half of the slots that were ever in use still were: the long tail. */
  readonly tailSeconds: number;
  /** When each response ended, in seconds, ascending. */
  readonly ends: readonly number[];
}

/**
 * Continuous batching, window by window: responses are admitted in their order while there are slots, which costs
 * their prompts' new tokens (Σ of the keys attended to: n·p − n²/2 + n/2 for the last n of p tokens); a window decodes
 * so many tokens of W slots, W a multiple of 16; a response leaves at the end of the window in which it ends.
 */
export function samplingCost(
  rates: KernelRates,
  { prefill, decode }: Pick<PolicyWork, "prefill" | "decode">,
  responses: readonly PlannedResponse[],
  { slots, stepsBetweenReadbacks: steps }: SamplingSettings,
): SamplingCost {
  let active: { left: number; keys: number }[] = [];
  let next = 0;
  let seconds = 0;
  let most = 0;
  const windows: { active: number; seconds: number }[] = [];
  const ends: number[] = [];
  while (next < responses.length || active.length > 0) {
    let tokens = 0, pairs = 0;
    for (; next < responses.length && active.length < slots; next++) {
      const { promptTokens: p, newTokens: n, length } = responses[next];
      tokens += n;
      pairs += n * p - (n * n) / 2 + n / 2;
      active.push({ left: length, keys: p });
    }
    let took = tokens > 0 ? workSeconds(rates, prefill(tokens, pairs)) : 0;
    const width = Math.ceil(active.length / 16) * 16;
    const keys = active.reduce((sum, one) => sum + one.keys + (steps + 1) / 2, 0);
    took += steps * workSeconds(rates, decode(width, keys));
    seconds += took;
    windows.push({ active: active.length, seconds: took });
    most = Math.max(most, active.length);
    for (const one of active) {
      one.left -= steps;
      one.keys += steps;
      if (one.left <= 0) ends.push(seconds);
    }
    active = active.filter(({ left }) => left > 0);
  }
  const tail = windows.filter((window) => 2 * window.active < most);
  const tailSeconds = tail.reduce((sum, window) => sum + window.seconds, 0);
  return { seconds, tailSeconds, ends };
}

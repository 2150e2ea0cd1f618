import type { PrefixGroup } from "../model/decoder/packed_batch.ts";

/** A response and what it answers. */
export interface PromptedResponse {
  readonly prompt: Uint32Array;
  readonly response: Uint32Array;
}

/**
 * Cuts samples into runs of neighbours with the same prompt, which a pass computes once for each run.
 *
 * @param share false leaves every sample by itself
 */
export function groupByPrompt<Sample extends PromptedResponse>(
  samples: readonly Sample[],
  share: boolean,
): Sample[][] {
  const groups: Sample[][] = [];
  for (const sample of samples) {
    const group = groups.at(-1);
    if (share && group && samePrompt(group[0].prompt, sample.prompt)) group.push(sample);
    else groups.push([sample]);
  }
  return groups;
}

function samePrompt(a: Uint32Array, b: Uint32Array): boolean {
  return a === b || (a.length === b.length && a.every((token, i) => token === b[i]));
}

/**
 * The tokens of a group as a pack holds them. The prompt's last token predicts each response's first, so
 * that every response has a copy of it.
 */
export function promptPrefixGroup(group: readonly PromptedResponse[]): PrefixGroup {
  const { prompt } = group[0];
  const shared = sharedTokens(group);
  return {
    prefix: prompt.subarray(0, shared),
    continuations: group.map(({ response }) => {
      const tokens = new Uint32Array(prompt.length - shared + response.length);
      tokens.set(prompt.subarray(shared));
      tokens.set(response, prompt.length - shared);
      return tokens;
    }),
  };
}

/** Tokens that a pack holds of a group. */
export function promptGroupTokens(group: readonly PromptedResponse[]): number {
  const shared = sharedTokens(group);
  const own = group[0].prompt.length - shared;
  return group.reduce((sum, { response }) => sum + own + response.length, shared);
}

function sharedTokens(group: readonly PromptedResponse[]): number {
  return group.length === 1 ? 0 : group[0].prompt.length - 1;
}

/**
 * The row that predicts each response token, and that response token.
 *
 * @param sequenceEnds one past the last row of each prompt and response
 */
export function responseRows(
  samples: readonly PromptedResponse[],
  sequenceEnds: readonly number[],
): { rows: Uint32Array; targets: Uint32Array } {
  const count = samples.reduce((sum, { response }) => sum + response.length, 0);
  const rows = new Uint32Array(count);
  const targets = new Uint32Array(count);
  let at = 0;
  samples.forEach(({ response }, s) => {
    targets.set(response, at);
    const first = sequenceEnds[s] - response.length - 1;
    for (let i = 0; i < response.length; i++) rows[at++] = first + i;
  });
  return { rows, targets };
}

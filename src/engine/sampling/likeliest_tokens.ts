import type { LikeliestTokens } from "./request.ts";

/**
 * The likeliest tokens of places in a row.
 *
 * @param rows k (token, bits of its log-prob) of each place
 */
export function likeliestOf(k: number, rows: readonly Uint32Array[]): LikeliestTokens {
  const tokens = new Uint32Array(k * rows.length);
  const bits = new Uint32Array(k * rows.length);
  rows.forEach((row, place) => {
    for (let i = 0; i < k; i++) {
      tokens[place * k + i] = row[2 * i];
      bits[place * k + i] = row[2 * i + 1];
    }
  });
  return { k, tokens, logProbs: new Float32Array(bits.buffer) };
}

import type { Response } from "../../engine/sampling/request.ts";

/** What came of a response that was given up before it began. */
export const NOTHING_SAMPLED: Response = {
  tokens: new Uint32Array(),
  logProbs: new Float32Array(),
  likeliest: null,
  prompt: null,
  end: { reason: "aborted" },
  cachedTokens: 0,
  timesPutBack: 0,
};

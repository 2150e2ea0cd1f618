import type { Sampling } from "../../engine/sampling/request.ts";
import type { AdamwNumbers } from "../../model/decoder/optimizer.ts";

/** Numbers for a rehearsed step: they do not show in the memory it takes. */
export const anyNumbers: AdamwNumbers = {
  learningRate: 0,
  betas: [0.9, 0.999],
  epsilon: 1e-8,
  weightDecay: 0,
  maxGradientNorm: 1,
};

/** How a rehearsed response is sampled, which does not show either. */
export const anySampling: Sampling = {
  temperature: 0,
  topK: 0,
  topP: 1,
  minP: 0,
  seed: 0,
  stream: 0,
  step: 0,
};

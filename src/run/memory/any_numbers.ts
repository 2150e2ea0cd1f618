import type { AdamwNumbers } from "../../model/decoder/optimizer.ts";

/** Numbers for a rehearsed step: they do not show in the memory it takes. */
export const anyNumbers: AdamwNumbers = {
  learningRate: 0,
  betas: [0.9, 0.999],
  epsilon: 1e-8,
  weightDecay: 0,
  maxGradientNorm: 1,
};

import type { MakeBenchmark } from "../benchmark.ts";
import { makeRollout } from "./rollout.ts";
import { makeTrainingStep } from "./training_step.ts";

/** The end-to-end rates of bench/shapes.json. */
export const endToEnd: Readonly<Record<string, MakeBenchmark>> = {
  training_step: makeTrainingStep,
  rollout: makeRollout,
};

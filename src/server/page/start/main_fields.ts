/** The keys of a configuration that matter most, which stand above all others. */

import type { RunKind } from "../../../run/store/run_folder.ts";

const TRAIN: Readonly<Record<string, string>> = {
  "generator.model": "Model",
  "verifier.model": "Verifier",
  "schedule.total_training_steps": "Steps",
  "advantage.estimator": "Method",
  "rollout.batch_size": "Problems in a step",
  "rollout.group_size": "Solutions of each problem",
  "generator.optimizer.learning_rate": "Learning rate",
  "verifier.optimizer.learning_rate": "Verifier's learning rate",
  seed: "Seed",
  gpu: "GPU engine",
};

const SFT: Readonly<Record<string, string>> = {
  initial_model: "Model",
  policy: "What it learns to be",
  "schedule.total_training_steps": "Steps",
  batch_size: "Examples in a step",
  "optimizer.learning_rate": "Learning rate",
  seed: "Seed",
  gpu: "GPU engine",
};

/** What they are called, by key, in the order in which they are shown. */
export function mainFields(kind: RunKind): Readonly<Record<string, string>> {
  if (kind === "sft") return SFT;
  if (kind === "train") return TRAIN;
  // A comparison has seeds of its own.
  const { seed: _, ...others } = TRAIN;
  return others;
}

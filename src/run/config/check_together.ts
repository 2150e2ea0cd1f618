import type { z } from "zod";
import { comparesWhole } from "./loss_options.ts";
import { checkRewardModel } from "./check_reward_model.ts";
import type { dataSchema } from "./data_schema.ts";
import {
  choosesByNothing,
  type referenceMemorySchema,
  systemPromptNeedsChat,
  type trainedDtypeSchema,
} from "./shared_schema.ts";
import type {
  advantageSchema,
  evaluationSchema,
  generatorSchema,
  lossSchema,
  rewardsSchema,
  rolloutSchema,
  scheduleSchema,
  verifierSchema,
} from "./tango_sections.ts";

/** Fields that are checked together. */
export type TangoConfigFields = {
  data: z.output<typeof dataSchema>;
  evaluation: z.output<typeof evaluationSchema>;
  generator: z.output<typeof generatorSchema>;
  rewards: z.output<typeof rewardsSchema>;
  rollout: z.output<typeof rolloutSchema>;
  loss: z.output<typeof lossSchema>;
  advantage: z.output<typeof advantageSchema>;
  schedule: z.output<typeof scheduleSchema>;
  verifier: z.output<typeof verifierSchema> | null;
  trained_dtype: z.output<typeof trainedDtypeSchema>;
  reference_memory: z.output<typeof referenceMemorySchema>;
};

/** Settings that are possible alone and impossible together. */
export function checkTogether({ value, issues }: z.core.ParsePayload<TangoConfigFields>): void {
  const impossible = (path: PropertyKey[], input: unknown, message: string) =>
    issues.push({ code: "custom", path, input, message });
  const { rollout, loss, advantage, schedule, verifier } = value;
  checkRewardModel(value, impossible);
  if (rollout.batch_size % loss.mini_batches !== 0) {
    impossible(
      ["loss", "mini_batches"],
      loss.mini_batches,
      `a divisor of rollout.batch_size, which is ${rollout.batch_size}`,
    );
  }
  if (advantage.estimator !== "reinforce++" && rollout.group_size < 2) {
    impossible(
      ["rollout", "group_size"],
      rollout.group_size,
      `at least 2, because advantage.estimator ${advantage.estimator} compares the responses of a group`,
    );
  }
  if (advantage.estimator !== "reinforce++" && rollout.critiques === 1) {
    impossible(
      ["rollout", "critiques"],
      rollout.critiques,
      `at least 2, because advantage.estimator ${advantage.estimator} compares the critiques of a solution`,
    );
  }
  const { alpha } = advantage;
  const alphaFalls = alpha.initial > 0 && !["none", "earned"].includes(alpha.schedule);
  if (alphaFalls && alpha.minimum > alpha.initial) {
    impossible(
      ["advantage", "alpha", "minimum"],
      alpha.minimum,
      `at most advantage.alpha.initial, which is ${alpha.initial}`,
    );
  }
  if (alphaFalls && alpha.schedule === "exp" && alpha.minimum === 0) {
    impossible(
      ["advantage", "alpha", "minimum"],
      alpha.minimum,
      "greater than 0, because exp never reaches 0 (linear and cosine do)",
    );
  }
  if (alpha.schedule === "earned" && advantage.judgments === "constant") {
    const message =
      "exp, linear, cosine or none, because advantage.judgments constant earns nothing";
    impossible(["advantage", "alpha", "schedule"], alpha.schedule, message);
  }
  if (advantage.normalisation === "merged" && advantage.process.startsWith("first-error")) {
    const message = "separate, because advantage.process " + advantage.process +
      " has no step rewards of its own to merge";
    impossible(["advantage", "normalisation"], "merged", message);
  }
  if (advantage.judged === "wrong" && verifier && value.rewards.ground_truth_weight < 1) {
    const message =
      "all, because with rewards.ground_truth_weight below 1 each solution earns by its verdict";
    impossible(["advantage", "judged"], "wrong", message);
  }
  if (advantage.judgments === "prefix" && alpha.schedule === "earned") {
    const message = "exp, linear, cosine or none, because advantage.judgments prefix is made of " +
      "outcomes, and would always agree with them";
    impossible(["advantage", "alpha", "schedule"], alpha.schedule, message);
  }
  if (advantage.judgments === "prefix" && advantage.process.includes("error")) {
    const message = "own-step or sum-to-go, because advantage.judgments prefix tells changes of " +
      "value, and flags no step";
    impossible(["advantage", "process"], advantage.process, message);
  }
  if (advantage.judgments === "oracle" && value.data !== null) {
    const message =
      "verifier, permuted, constant or prefix, because steps of problems from files have no true labels " +
      "to train on (an embedded task's have, with data: null)";
    impossible(["advantage", "judgments"], advantage.judgments, message);
  }
  if (advantage.oracle_accuracy !== 1 && advantage.judgments !== "oracle") {
    const message = `1, because advantage.judgments is ${advantage.judgments}`;
    impossible(["advantage", "oracle_accuracy"], advantage.oracle_accuracy, message);
  }
  for (const name of ["generator", "verifier"] as const) {
    const policy = value[name];
    if (!policy?.system_prompt || policy.chat) continue;
    impossible([name, "system_prompt"], policy.system_prompt, systemPromptNeedsChat);
  }
  for (const name of ["generator", "verifier"] as const) {
    const policy = value[name];
    if (!policy?.lora || policy.trained) continue;
    impossible([name, "lora"], policy.lora, `null, because ${name}.trained is false`);
  }
  const trainsWhole = [value.generator, verifier].some((one) => one?.trained && !one.lora);
  if (value.trained_dtype !== "float32" && !trainsWhole) {
    const message = "float32, because no policy trains the weights of its model themselves";
    impossible(["trained_dtype"], value.trained_dtype, message);
  }
  if (value.reference_memory === "host" && !comparesWhole(value)) {
    const message =
      "gpu, because no policy trains the weights of its model themselves and is compared with " +
      "what they began as (kl_coefficient)";
    impossible(["reference_memory"], "host", message);
  }
  if (schedule.keep_best && schedule.test_frequency === 0) {
    const message = "false, because with schedule.test_frequency 0 nothing is evaluated";
    impossible(["schedule", "keep_best"], true, message);
  }
  if (schedule.keep_best && !value.generator.trained) {
    const message = "false, because it goes by the generator, and generator.trained is false";
    impossible(["schedule", "keep_best"], true, message);
  }
  if (schedule.keep_best && value.data?.validation === null) {
    impossible(["data", "validation"], null, choosesByNothing("schedule.keep_best"));
  }
  if (value.evaluation.problems === null && value.data === null) {
    impossible(["evaluation", "problems"], null, "a number, because an embedded task never ends");
  }
  const longest = value.generator.max_response_length;
  if (value.rewards.overlong_buffer > longest) {
    impossible(
      ["rewards", "overlong_buffer"],
      value.rewards.overlong_buffer,
      `at most generator.max_response_length, which is ${longest}`,
    );
  }
  const trainsVerifier = verifier?.trained ?? false;
  if (!value.generator.trained) {
    if (!trainsVerifier) {
      const message = "true, because without a verifier to train nothing would be trained";
      impossible(["generator", "trained"], false, message);
    } else if (schedule.verifier_steps === 0) {
      const message = "at least 1, because generator.trained is false";
      impossible(["schedule", "verifier_steps"], schedule.verifier_steps, message);
    }
  } else if (schedule.generator_steps + (trainsVerifier ? schedule.verifier_steps : 0) === 0) {
    impossible(
      ["schedule", "generator_steps"],
      schedule.generator_steps,
      "at least 1, because nothing else would be trained",
    );
  }
}

/** Reward models over ranks: the same bits however they lie. */

import { assertSameFiles } from "../killable_runs.ts";
import { tinyPolicies } from "../tiny_policies.ts";
import { RankRuns } from "./rank_runs.ts";

const comparedFiles = [
  ...["metrics.jsonl", "samples.jsonl", "audit.jsonl"],
  ...["generator/model.safetensors", "verifier/model.safetensors"],
];

Deno.test({
  name: "ranks: an implicit reward model on 1 and 2, and split over 2",
  // The GPU outlives its closing by a few timers.
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async () => {
    await using runs = new RankRuns();
    const changes = {
      generator: { model: tinyPolicies.generator, max_response_length: 48 },
      verifier: { kind: "implicit", model: tinyPolicies.generator },
      advantage: { process: "token-to-go", alpha: { initial: 0.5, schedule: "none" } },
      class_reweighting: { pool: 8 },
      schedule: { test_frequency: 1 },
      samples_per_step: 4,
    };
    await runs.compare("implicit", changes, [2], comparedFiles);
    const placement = { generator: "0", verifier: "1" };
    await runs.train("split", 2, runs.config({ ...changes, placement }));
    assertSameFiles(runs.path("split"), runs.path("implicit-1"), comparedFiles);
  },
});

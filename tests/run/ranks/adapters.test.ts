/** Adapters over ranks: on tiny policies however they lie, and on a real pretrained model. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { readJsonLines } from "../../../src/run/store/json_lines_log.ts";
import type { MetricsLine } from "../../../src/run/store/metrics_log.ts";
import { RunFolder } from "../../../src/run/store/run_folder.ts";
import { smollm2File } from "../../model/smollm2_file.ts";
import { assertSameFiles } from "../killable_runs.ts";
import { tinyPolicies } from "../tiny_policies.ts";
import { RankRuns } from "./rank_runs.ts";

const comparedFiles = [
  ...["metrics.jsonl", "samples.jsonl", "audit.jsonl"],
  ...["generator/adapter_model.safetensors", "verifier/adapter_model.safetensors"],
];

/** What both tests train: a generator and a verifier step. */
const common = {
  loss: { kl_coefficient: 0.01, entropy_coefficient: 0.01 },
  schedule: { test_frequency: 0 },
  samples_per_step: 4,
};

const lora = { rank: 4, targets: ["q_proj", "v_proj"] };

// The GPU outlives its closing by a few timers.
const sanitizers = { sanitizeOps: false, sanitizeResources: false };

function assertLearned(runs: RankRuns, name: string): void {
  const { metrics } = RunFolder.open(runs.path(name));
  const norms = readJsonLines<MetricsLine>(metrics).map((line) =>
    Number(line[`${line.phase}/grad_norm`])
  );
  assert.equal(norms.length, 2);
  assert.ok(norms.every((norm) => norm > 0), `${norms}`);
}

Deno.test({
  name: "ranks: adapters, a generator and a verifier step on 1 and 4, and split over 2",
  ...sanitizers,
  fn: async () => {
    await using runs = new RankRuns();
    const changes = {
      ...common,
      generator: { model: tinyPolicies.generator, max_response_length: 48, lora },
      verifier: { model: tinyPolicies.verifier, max_response_length: 64, lora },
    };
    await runs.compare("adapters", changes, [4], comparedFiles);
    const placement = { generator: "0", verifier: "1" };
    await runs.train("split", 2, runs.config({ ...changes, placement }));
    assertSameFiles(runs.path("split"), runs.path("adapters-1"), comparedFiles);
    assertLearned(runs, "adapters-1");
  },
});

const model = await smollm2File();

Deno.test({
  name: "ranks: adapters on SmolLM2-135M, a generator and a verifier step on 1 and 2" +
    (model === null ? " (its file cannot be had)" : ""),
  ignore: model === null,
  ...sanitizers,
  fn: async () => {
    await using runs = new RankRuns();
    const prompts = { generator: join(runs.root, "g.txt"), verifier: join(runs.root, "v.txt") };
    Deno.writeTextFileSync(prompts.generator, "{{ question }} is");
    Deno.writeTextFileSync(prompts.verifier, "{{ question }}: {{ solution }}? {{ steps }}");
    const policy = (prompt_template: string) => ({
      ...{ model, prompt_template, max_response_length: 2, lora },
    });
    const changes = {
      ...common,
      generator: policy(prompts.generator),
      verifier: policy(prompts.verifier),
      rollout: { batch_size: 2, steps_between_readbacks: 2 },
    };
    await runs.compare("adapters", changes, [2], comparedFiles);
    assertLearned(runs, "adapters-1");
  },
});

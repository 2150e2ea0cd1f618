/** Adapters on experts over ranks, and gone on with after an end: the same bytes. A minute and a half. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { characterTokenizer, characterTokenizerConfig } from "../../../src/data/vocabulary.ts";
import { Gpu } from "../../../src/gpu/gpu.ts";
import { plainExperts } from "../../../src/model/decoder/config.ts";
import { wholeModelFiles } from "../../../src/model/weights/model_files.ts";
import { Tokenizer } from "../../../src/model/tokenizer/tokenizer.ts";
import { readJsonLines } from "../../../src/run/store/json_lines_log.ts";
import type { MetricsLine } from "../../../src/run/store/metrics_log.ts";
import { RunFolder } from "../../../src/run/store/run_folder.ts";
import { writeFiles } from "../../../src/run/store/weights_folder.ts";
import { tinyConfig, tinyModel } from "../../model/tiny_model.ts";
import { assertSameFiles } from "../killable_runs.ts";
import { RankRuns } from "./rank_runs.ts";

const comparedFiles = [
  ...["metrics.jsonl", "samples.jsonl", "audit.jsonl"],
  ...["generator/adapter_model.safetensors", "verifier/adapter_model.safetensors"],
];

/** A policy of random weights, of whose two layers one has experts. */
async function writePolicy(folder: string): Promise<void> {
  const gpu = await Gpu.open();
  const tokenizer = Tokenizer.fromJson(
    { ...characterTokenizer() },
    { ...characterTokenizerConfig() },
    "tokenizer.json",
  );
  const [dense] = tinyConfig.kinds;
  const experts = { ...plainExperts, count: 5, chosen: 2, innerSize: 20, normalised: true };
  const config = { architecture: "qwen3_moe", kinds: [dense, { ...dense, experts }] } as const;
  const model = tinyModel(gpu, { config, trained: false });
  await writeFiles(folder, wholeModelFiles({ model, tokenizer, stopTokens: [2] }), "");
  model.release();
  gpu.close();
}

Deno.test({
  name: "ranks: adapters on experts, a generator and a verifier step on 1 and 2, and resumed",
  // The GPU outlives its closing by a few timers.
  ...{ sanitizeOps: false, sanitizeResources: false },
  fn: async () => {
    await using runs = new RankRuns();
    const model = join(runs.root, "policy");
    await writePolicy(model);
    const policy = { model, max_response_length: 24, lora: { rank: 4 } };
    const changes = {
      loss: { kl_coefficient: 0.01, entropy_coefficient: 0.01 },
      schedule: { test_frequency: 0, save_frequency: 1 },
      ...{ generator: policy, verifier: { ...policy, lora: { rank: 8 } }, samples_per_step: 4 },
    };
    await runs.compare("experts", changes, [2], comparedFiles);
    await runs.trainUntil("resumed", 1, runs.config(changes), 1);
    await runs.train("resumed", 2, runs.config(changes), { resume: true });
    assertSameFiles(runs.path("resumed"), runs.path("experts-1"), comparedFiles);
    const { metrics } = RunFolder.open(runs.path("experts-1"));
    const lines = readJsonLines<MetricsLine>(metrics);
    assert.equal(lines.length, 2);
    for (const line of lines) {
      assert.ok(Number(line[`${line.phase}/grad_norm`]) > 0);
      assert.equal(line["sampling/logp_difference/max"], 0);
    }
  },
});

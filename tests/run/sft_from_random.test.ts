/** A model of random weights learns from files with a tokenizer of its own, and is then trained on files. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { tangoConfigSchema } from "../../src/run/config/config_schema.ts";
import { type SftConfig, sftConfigSchema } from "../../src/run/config/sft_config_schema.ts";
import { fineTuneWithReport } from "../../src/run/session/sft_session.ts";
import { trainWithReport } from "../../src/run/session/training_session.ts";
import { SftRun } from "../../src/run/sft/sft_run.ts";
import { readJsonLines } from "../../src/run/store/json_lines_log.ts";
import { METRIC } from "../../src/run/store/metric_names.ts";
import type { MetricsLine } from "../../src/run/store/metrics_log.ts";
import { RunFolder } from "../../src/run/store/run_folder.ts";
import { gpuOf, onEveryGpu } from "../kernels/harness.ts";
import { tinyArchitecture } from "./tiny_architecture.ts";

const NAMES = ["Ann", "Bob", "Cid", "Dee"];
const ALPHABET = [
  ..." \nABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.,:;?!+-=()'\"/<>{}[]_*#\\",
];

/** Characters and the tags as one token each, ids dense but in no order of the text; END ends a response. */
function writeTokenizer(folder: string): number {
  Deno.mkdirSync(folder);
  const tags = ["END", "<step>", "</step>", "<think>", "</think>", "<answer>", "</answer>"];
  const vocabulary = [...ALPHABET, ...tags];
  const added = tags.map((content) => ({
    ...{ id: vocabulary.indexOf(content), content, special: content === "END" },
    ...{ single_word: false, lstrip: false, rstrip: false, normalized: false },
  }));
  const definition = {
    ...{ version: "1.0", truncation: null, padding: null, added_tokens: added },
    ...{ normalizer: null, pre_tokenizer: null, post_processor: null, decoder: { type: "Fuse" } },
    model: {
      ...{ type: "BPE", dropout: null, unk_token: null, continuing_subword_prefix: null },
      ...{ end_of_word_suffix: null, fuse_unk: false, byte_fallback: false, ignore_merges: false },
      vocab: Object.fromEntries(vocabulary.map((token, id) => [token, id])),
      merges: [],
    },
  };
  Deno.writeTextFileSync(join(folder, "tokenizer.json"), JSON.stringify(definition));
  const settings = { tokenizer_class: "PreTrainedTokenizerFast", eos_token: "END" };
  Deno.writeTextFileSync(join(folder, "tokenizer_config.json"), JSON.stringify(settings));
  return vocabulary.length;
}

/** Sums with a capital letter, which the embedded tasks' characters lack. */
function rows(first: number, count: number): string {
  return Array.from({ length: count }, (_, i) => {
    const n = first + i, a = n % 9, b = Math.floor(n / 9) % 9;
    const name = NAMES[n % 4];
    return JSON.stringify({
      question: `${name} has ${a} pens and gets ${b}. How many has ${name}?`,
      answer: String(a + b),
      solution: `<think>\n<step>${a}+${b}=${a + b}</step>\n</think>\n<answer>\\boxed{${
        a + b
      }}</answer>`,
    });
  }).join("\n");
}

const columns = { question: "question", answer: "answer", solution: "solution" };

async function withFiles(
  body: (folder: string, config: (changes?: object) => SftConfig) => Promise<void>,
): Promise<void> {
  const folder = Deno.makeTempDirSync();
  try {
    const entry = (name: string, first: number, count: number) => {
      const path = join(folder, name);
      Deno.writeTextFileSync(path, rows(first, count));
      return [{ path, columns }];
    };
    const data = {
      train: entry("train.jsonl", 0, 48),
      validation: entry("validation.jsonl", 48, 8),
      held_out: entry("test.jsonl", 56, 8),
    };
    await body(folder, (changes = {}) =>
      sftConfigSchema.parse({
        policy: "generator",
        tokenizer: join(folder, "tokenizer"),
        architecture: { ...tinyArchitecture, max_position_embeddings: 512 },
        data,
        batch_size: 8,
        schedule: { total_training_steps: 30, test_frequency: 30 },
        optimizer: { learning_rate: 0.02 },
        evaluation: { problems: 8 },
        tuning: "default",
        ...changes,
      }));
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

onEveryGpu("from random weights on files, and on to training on files", async (gpu) => {
  await withFiles(async (folder, config) => {
    const size = writeTokenizer(join(folder, "tokenizer"));
    const sft = config();
    const run = RunFolder.at(join(folder, "sft"));
    assert.equal(await fineTuneWithReport(gpu, sft, run.path, { resume: false }), true);
    const losses = readJsonLines<MetricsLine>(run.metrics)
      .filter(({ phase }) => phase === "evaluation").map((line) =>
        Number(line[METRIC.heldOutLoss])
      );
    // At first every token is as likely as another.
    assert.ok(Math.abs(losses[0] - Math.log(size)) < 0.1, `${losses}`);
    assert.ok(losses[1] < 0.7 * losses[0], `${losses}`);
    const saved = run.weights("generator");
    const json = (file: string) => JSON.parse(Deno.readTextFileSync(join(saved, file)));
    assert.equal(json("config.json").vocab_size, size);
    assert.equal(json("config.json").eos_token_id, size - 7);
    assert.equal(json("tokenizer_config.json").eos_token, "END");
    const verifier = config({ policy: "verifier", seed: 2 });
    const judge = await SftRun.open(gpu, verifier);
    await judge.save(join(folder, "verifier"));
    judge.close();
    const tango = tangoConfigSchema.parse({
      generator: { model: saved, max_response_length: 12 },
      verifier: { model: join(folder, "verifier"), max_response_length: 12 },
      data: sft.data && {
        train: sft.data.train,
        held_out: sft.data.held_out,
        validation: sft.data.validation,
      },
      rollout: { batch_size: 2, group_size: 2 },
      schedule: { total_training_steps: 2, generator_steps: 1, test_frequency: 1 },
      evaluation: { problems: 4 },
      tuning: "default",
    });
    const trained = RunFolder.at(join(folder, "train"));
    assert.equal(await trainWithReport(gpu, tango, trained.path, { resume: false }), true);
    const lines = readJsonLines<MetricsLine>(trained.metrics);
    assert.deepEqual(
      new Set(lines.map(({ phase }) => phase)),
      new Set(["evaluation", "generator", "verifier"]),
    );
  });
});

Deno.test({
  name: "from random weights on files: what is missing is said",
  // The GPU outlives its closing by a few timers.
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async () => {
    const gpu = (await gpuOf("native")).rehearsal();
    await withFiles(async (folder, config) => {
      const issue = (changes: object) => {
        try {
          config(changes);
        } catch (error) {
          return (error as Error).message;
        }
        return "";
      };
      assert.match(issue({ tokenizer: null }), /a model, or null with tokenizer/);
      assert.match(issue({ initial_model: folder }), /null, because initial_model has its own/);
      const path = join(folder, "tokenizer");
      const refused = (message: RegExp) => assert.rejects(SftRun.open(gpu, config()), { message });
      await refused(/tokenizer\.json is missing; expected a tokenizer\.json, or a folder with one/);
      writeTokenizer(path);
      const settings = join(path, "tokenizer_config.json");
      Deno.writeTextFileSync(settings, "{}");
      await refused(/names no eos_token/);
      Deno.removeSync(settings);
      await refused(/tokenizer_config\.json is missing; it names the eos_token/);
      Deno.writeTextFileSync(settings, '{"eos_token": "END"}');
      const file = join(path, "tokenizer.json");
      const definition = JSON.parse(Deno.readTextFileSync(file));
      definition.model.vocab["Q"] = 2 ** 31;
      Deno.writeTextFileSync(file, JSON.stringify(definition));
      await refused(/largest token id is 2147483648/);
      Deno.writeTextFileSync(file, JSON.stringify({ model: {} }));
      await refused(/has no tokens/);
    });
  },
});

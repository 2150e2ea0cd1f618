/** A run whose responses are long texts of SentencePiece tokens, which no token's text can be told of alone. */

import assert from "node:assert/strict";
import { alone } from "../../src/distributed/communicator.ts";
import { onEveryRank } from "../../src/distributed/placed.ts";
import { Tokenizer as HuggingFaceTokenizer } from "@huggingface/tokenizers";
import { join } from "node:path";
import { initialise } from "../../src/model/decoder/initialise.ts";
import { Model } from "../../src/model/decoder/model.ts";
import { stopTokensOf } from "../../src/model/tokenizer/stop_tokens.ts";
import { loadTangoConfig } from "../../src/run/config/load_config.ts";
import { trainWithReport } from "../../src/run/session/training_session.ts";
import { readJsonLines } from "../../src/run/store/json_lines_log.ts";
import type { MetricsLine } from "../../src/run/store/metrics_log.ts";
import { RunFolder } from "../../src/run/store/run_folder.ts";
import { writeModelFolder } from "../../src/run/store/weights_folder.ts";
import { gpuOf } from "../kernels/harness.ts";
import { sentencePiece, vocabulary } from "../model/sentencepiece_tokenizer.ts";
import { tinyConfig } from "../model/tiny_model.ts";
import { withTinyProject } from "./tiny_project.ts";

Deno.test({
  name: "long responses: a run decodes a few tokens for each token it samples",
  // The device outlives a test on purpose: it is opened once per process.
  sanitizeOps: false,
  sanitizeResources: false,
  fn: async () => {
    const gpu = await gpuOf("native");
    await withTinyProject(gpu, async (project) => {
      const folder = join(project.folder, "model");
      const shape = { ...tinyConfig, vocabularySize: vocabulary.length, maxPositions: 1024 };
      const model = Model.create(gpu, shape, { trained: true });
      initialise(model, 3, 0.05);
      const stopTokens = stopTokensOf(sentencePiece, [], "the model");
      const made = { model, tokenizer: sentencePiece, stopTokens };
      await writeModelFolder(folder, onEveryRank(alone, made));
      model.release();
      const prompt = join(project.folder, "prompt.txt");
      Deno.writeTextFileSync(prompt, "{{ question }}");
      const config = loadTangoConfig(project.config, {
        steps: 1,
        set: [
          "verifier=null",
          `generator.model=${folder}`,
          `generator.prompt_template=${prompt}`,
          "generator.max_response_length=700",
          "schedule.test_frequency=0",
        ],
      });
      const { decode } = HuggingFaceTokenizer.prototype;
      let decoded = 0;
      HuggingFaceTokenizer.prototype.decode = function (part, options) {
        decoded += part.length;
        return decode.call(this, part, options);
      };
      const run = join(project.folder, "run");
      try {
        await trainWithReport(gpu, config, run, { resume: false });
      } finally {
        HuggingFaceTokenizer.prototype.decode = decode;
      }
      const lines = readJsonLines<MetricsLine>(RunFolder.at(run).metrics);
      const [length] = lines.flatMap((line) => line["generator/completions/mean_length"] ?? []);
      // Two problems with two responses each.
      const sampled = 4 * Number(length);
      assert.ok(sampled > 600, `${sampled} tokens: too few to test anything`);
      // Each token alone and with its neighbours, in the text, and once more for the log of samples.
      assert.ok(decoded < 20 * sampled, `${decoded} for ${sampled} tokens`);
    });
  },
});

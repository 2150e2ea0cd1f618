/** What judgments count in a fine-tuning whose tokenizer cuts them into letters. */

import assert from "node:assert/strict";
import { alone } from "../../src/distributed/communicator.ts";
import { onEveryRank } from "../../src/distributed/placed.ts";
import { join } from "node:path";
import type { Gpu } from "../../src/gpu/gpu.ts";
import { initialise } from "../../src/model/decoder/initialise.ts";
import { Model } from "../../src/model/decoder/model.ts";
import { stopTokensOf } from "../../src/model/tokenizer/stop_tokens.ts";
import { sftConfigSchema } from "../../src/run/config/sft_config_schema.ts";
import { fineTuneWithReport } from "../../src/run/session/sft_session.ts";
import { readJsonLines } from "../../src/run/store/json_lines_log.ts";
import type { MetricsLine } from "../../src/run/store/metrics_log.ts";
import { RunFolder } from "../../src/run/store/run_folder.ts";
import { writeModelFolder } from "../../src/run/store/weights_folder.ts";
import { onEveryGpu } from "../kernels/harness.ts";
import { mergedTokenizer, mergedVocabularySize } from "../model/merged_tokenizer.ts";
import { tinyConfig } from "../model/tiny_model.ts";
import { tinyTask } from "./tiny_policies.ts";

async function writeMergedModel(gpu: Gpu, folder: string): Promise<void> {
  const tokenizer = mergedTokenizer();
  const config = { ...tinyConfig, vocabularySize: mergedVocabularySize };
  const model = Model.create(gpu, config, { trained: true });
  // So large that tokens differ much in what they cost.
  initialise(model, 3, 0.5);
  const stopTokens = stopTokensOf(tokenizer, [], "the merged model");
  await writeModelFolder(folder, onEveryRank(alone, { model, tokenizer, stopTokens }));
  model.release();
}

onEveryGpu(
  "judgment_weight: the letters of a judgment count so much in a whole run",
  async (gpu) => {
    const folder = Deno.makeTempDirSync();
    try {
      const initial_model = join(folder, "model");
      await writeMergedModel(gpu, initial_model);
      let letters = 0, tokens = 0;
      /** The first update's loss. */
      const lossWith = async (judgment_weight: number): Promise<number> => {
        const config = sftConfigSchema.parse({
          ...{ policy: "verifier", task: tinyTask, initial_model, judgment_weight },
          ...{ batch_size: 4, schedule: { total_training_steps: 1 } },
          ...{ max_response_length: 4, evaluation: { problems: 1 } },
        });
        const run = join(folder, `weight-${judgment_weight}`);
        await fineTuneWithReport(gpu, config, run, {
          ...{ resume: false, onPlan() {} },
          onOpen({ examples }) {
            const tokenizer = mergedTokenizer();
            const responses = examples.draw(1, 4).map(({ response }) => response);
            tokens = responses.reduce((sum, { length }) => sum + length, 0);
            // Capital letters occur in judgments alone, and no merge has any.
            const texts = responses.map((response) => tokenizer.decode(response)).join("");
            letters = texts.match(/[A-Z]/g)?.length ?? 0;
          },
        });
        const lines = readJsonLines<MetricsLine>(RunFolder.at(run).metrics);
        const [loss] = lines.flatMap((line) => line["sft/loss"] ?? []);
        return Number(loss);
      };
      // A weighted mean: (A + w·B) / (a + w·b) of a other tokens that cost A together, and b letters that cost B.
      const [one, five, nine] = [await lossWith(1), await lossWith(5), await lossWith(9)];
      const others = tokens - letters;
      assert.ok(letters >= 4 * 2 * "CORRECT".length, `${letters} letters`);
      const sumWith = (loss: number, weight: number) => loss * (others + weight * letters);
      const ofLetters = (sumWith(five, 5) - sumWith(one, 1)) / 4;
      const ofOthers = sumWith(one, 1) - ofLetters;
      const expected = (ofOthers + 9 * ofLetters) / (others + 9 * letters);
      // The losses are means of f32 log-probs, taken in float64.
      assert.ok(Math.abs(nine - expected) < 1e-9 * nine, `${nine}, expected ${expected}`);
      assert.ok(Math.abs(five - one) > 0.01 * one, `${five} and ${one}: nothing is tested`);
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
  },
);

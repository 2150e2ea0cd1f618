/** A model whose layers have windows, served from a cache that is shorter than what it is asked. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { withFolder } from "../written_run.ts";
import { TINY, withModels } from "./with_models.ts";

Deno.test("windows: texts longer than a served model's cache are answered as from a large one", async () => {
  await withFolder(async (folder) => {
    for (const { name } of Deno.readDirSync(TINY)) {
      Deno.copyFileSync(join(TINY, name), join(folder, name));
    }
    const path = join(folder, "config.json");
    const config = JSON.parse(Deno.readTextFileSync(path));
    const windowed = { ...config, model_type: "mistral", sliding_window: 16 };
    Deno.writeTextFileSync(path, JSON.stringify(windowed));
    const answers: { readonly text: unknown; readonly logprobs: unknown }[][] = [];
    for (const cacheTokens of [192, 4096]) {
      await withModels(
        async ({ served, ask }) => {
          assert.equal(served.find("tiny").info.maximumTokens, config.max_position_embeddings);
          const asked = [0, 1, 2].map((seed) =>
            ask("/v1/completions", {
              prompt: Array.from({ length: 300 }, (_, at) => 3 + (seed + at * at) % 60),
              ...{ max_tokens: 200, seed, ignore_eos: true, logprobs: 1 },
            })
          );
          const given = await Promise.all(asked);
          answers.push(given.map(({ status, body: { choices } }) => {
            assert.equal(status, 200);
            const [{ text, logprobs, finish_reason }] = choices;
            assert.equal(finish_reason, "length");
            return { text, logprobs };
          }));
        },
        { tiny: folder },
        { slots: 2, cacheTokens },
      );
    }
    assert.deepEqual(answers[0], answers[1]);
  });
});

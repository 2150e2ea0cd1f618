/** A real model from a GGUF file, against what transformers computes with the same file. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { streams } from "../../../src/random/philox.ts";
import { ChatTemplate } from "../../../src/model/tokenizer/chat_template.ts";
import { forwardOnly } from "../../../src/model/decoder/forward.ts";
import { headLogits } from "../../../src/model/decoder/head.ts";
import { type LoadedModel, loadModelFolder } from "../../../src/model/weights/model_folder.ts";
import { openModelSource } from "../../../src/model/weights/model_source.ts";
import { packSequences } from "../pack_sequences.ts";
import { Conversation } from "../../../src/engine/conversation.ts";
import { generate } from "../../engine/sampling/generate.ts";
import type { EngineName } from "../../../src/gpu/adapter.ts";
import { gpuOf, testedEngines } from "../../kernels/harness.ts";
import { readTensors } from "../safetensors_tensors.ts";
import { smollm2File } from "../smollm2_file.ts";

const fixtures = join(import.meta.dirname ?? "", "..", "..", "fixtures");
const { prompts }: { prompts: string[] } = JSON.parse(
  Deno.readTextFileSync(join(fixtures, "smollm2.json")),
);
const tensors = readTensors(join(fixtures, "smollm2.safetensors"));
const integers = (name: string) => tensors[name].data as Int32Array<ArrayBuffer>;
const ends = integers("ends");
const promptTokens = prompts.map((_, p) =>
  integers("tokens").slice(p === 0 ? 0 : ends[p - 1], ends[p])
);

const file = await smollm2File();

/** How the matrices lie in GPU memory. */
type Case = readonly [engine: EngineName, storage: "f32" | "f16"];

function onModel(
  name: string,
  cases: readonly Case[],
  body: (loaded: LoadedModel, storage: "f32" | "f16") => Promise<void>,
): void {
  for (const [engine, storage] of cases) {
    if (!testedEngines.includes(engine)) continue;
    Deno.test({
      name: `SmolLM2: ${name} [${engine}, ${storage}]`,
      ignore: file === null,
      sanitizeOps: false,
      sanitizeResources: false,
      fn: async () => {
        const options = { trained: false, storage };
        const loaded = await loadModelFolder(await gpuOf(engine), file ?? "", options);
        try {
          assert.equal(loaded.model.embedding[0].weight.dtype, storage);
          await body(loaded, storage);
        } finally {
          loaded.model.release();
        }
      },
    });
  }
}

Deno.test({
  name: "SmolLM2: prompts have the tokens of transformers' tokenizer",
  ignore: file === null,
  fn: async () => {
    using source = await openModelSource(file ?? "");
    const tokenizer = source.tokenizer();
    prompts.forEach((prompt, p) => {
      assert.deepEqual([...tokenizer.encode(prompt)], [...promptTokens[p]], prompt);
    });
  },
});

const logitCases: Case[] = [["native", "f32"], ["native", "f16"], ["dawn", "f32"]];
onModel("logits and the likeliest tokens", logitCases, async ({ model }, storage) => {
  const { gpu } = model;
  const rows = integers("tokens").length;
  const columns = integers("columns");
  const expected = tensors.logits.data as Float32Array<ArrayBuffer>;
  const made = gpu.scope(() => {
    return headLogits(model, forwardOnly(model, packSequences(gpu, promptTokens)));
  }, (logits) => [logits]);
  const logits = await gpu.readFloats(made);
  gpu.release(made);
  let difference = 0, agreed = 0;
  for (let t = 0; t < rows; t++) {
    const row = logits.subarray(
      t * model.config.vocabularySize,
      (t + 1) * model.config.vocabularySize,
    );
    columns.forEach((column, c) => {
      difference = Math.max(difference, Math.abs(row[column] - expected[t * columns.length + c]));
    });
    if (row.indexOf(row.reduce((a, b) => Math.max(a, b))) === integers("top")[t]) agreed++;
  }
  console.log(
    `${gpu.info.engine}, ${storage}: largest logit difference ${
      difference.toExponential(2)
    }, likeliest token the ` +
      `same at ${agreed} of ${rows} positions`,
  );
  // 30 layers of f32 sums in another order than PyTorch's; logits of up to about 30. In f16 every weight
  // is off by up to 2^-11 of it, which 30 layers leave at about that share of the largest logits.
  const bound = { f32: 1e-3, f16: 0.1 }[storage];
  assert.ok(difference < bound, `difference ${difference}`);
  assert.ok(agreed >= 0.99 * rows, `${agreed} of ${rows}`);
});

for (const engine of testedEngines) {
  Deno.test({
    name: `SmolLM2: logits from quantised blocks are those of f32 weights, bit for bit [${engine}]`,
    ignore: file === null,
    sanitizeOps: false,
    sanitizeResources: false,
    fn: async () => {
      const gpu = await gpuOf(engine);
      const logitsOf = async (storage: "f32" | "quantised") => {
        const { model } = await loadModelFolder(gpu, file ?? "", { trained: false, storage });
        const made = gpu.scope(
          () => headLogits(model, forwardOnly(model, packSequences(gpu, promptTokens.slice(0, 2)))),
          (logits) => [logits],
        );
        const logits = await gpu.readFloats(made);
        gpu.release(made);
        model.release();
        return logits;
      };
      const [whole, quantised] = [await logitsOf("f32"), await logitsOf("quantised")];
      const different = whole.filter((logit, i) => logit !== quantised[i]).length;
      assert.equal(different, 0, `of ${whole.length}`);
    },
  });
}

const greedyCases: Case[] = [["native", "f32"], ["native", "f16"]];
onModel("greedy continuations, token for token", greedyCases, async (loaded, storage) => {
  const { model, stopTokens } = loaded;
  const requests = promptTokens.map((tokens, p) => ({
    prompt: Uint32Array.from(tokens),
    sequenceIds: [p],
  }));
  const responses = await generate(model, requests, {
    temperature: 0,
    topK: 0,
    topP: 1,
    minP: 0,
    seed: 0,
    stream: streams.evaluation,
    step: 0,
    stopTokens,
    maximumResponse: 32,
    slots: 20,
    stepsBetweenReadbacks: 16,
  });
  const same = responses.filter(([{ tokens }], p) => {
    const expected = integers("greedy").slice(p * 32, (p + 1) * 32).filter((token) => token >= 0);
    return expected.length === tokens.length && expected.every((token, i) => token === tokens[i]);
  }).length;
  console.log(`${storage}: ${same} of ${prompts.length} continuations of 32 tokens are the same`);
  // Two tokens may be equally likely but for rounding, and a continuation then goes elsewhere.
  assert.ok(same >= 18, `${same} of ${prompts.length}`);
});

const talkCases: Case[] = [["native", "f16"]];
onModel("talks: a question, its answer, what was said before", talkCases, async (loaded) => {
  const conversation = new Conversation(
    loaded,
    new ChatTemplate(loaded.tokenizer, "SmolLM2"),
    null,
    {
      sampling: { temperature: 0, topK: 0, topP: 1, minP: 0, seed: 0, stream: streams.evaluation },
      choice: null,
      maximumReply: 24,
      context: 1024,
    },
  );
  let streamed = "";
  const reply = await conversation.say(
    "What is the capital of France?",
    (piece) => streamed += piece,
  );
  assert.match(reply.text, /Paris/);
  assert.equal(streamed, reply.text);
  assert.equal(reply.finished, true);
});

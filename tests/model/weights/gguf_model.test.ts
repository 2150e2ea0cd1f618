/** Models written as GGUF files and read back. llama.cpp was asked by hand; see docs/models.md. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { openGguf } from "../../../src/model/weights/gguf_file.ts";
import { ggufAdapter, ggufModel, type GgufType } from "../../../src/model/weights/gguf_model.ts";
import { ggufTokenizer } from "../../../src/model/weights/gguf_tokenizer.ts";
import {
  beginsWithBos,
  tokenizerValues,
} from "../../../src/model/weights/gguf_tokenizer_values.ts";
import {
  type LoadedModel,
  loadModel,
  loadModelFolder,
} from "../../../src/model/weights/model_folder.ts";
import { Tokenizer } from "../../../src/model/tokenizer/tokenizer.ts";
import { openModelSource } from "../../../src/model/weights/model_source.ts";
import { float32ToFloat16 } from "../../../src/model/decoder/half_precision.ts";
import { writePiecesAtomically } from "../../../src/platform/files/atomic_file.ts";
import type { FileContent } from "../../../src/model/weights/file_content.ts";
import { onEveryGpu } from "../../kernels/harness.ts";
import { fixtures } from "../fixture.ts";
import { mergedTokenizer } from "../merged_tokenizer.ts";
import { smollm2File } from "../smollm2_file.ts";
import { withFolder } from "../../server/written_run.ts";
import { encodeGguf } from "./gguf_writer.ts";
import { ggufOf, interleave } from "./fixture_gguf.ts";

const TEMPLATE = "{{ messages[-1].content }}";

async function write(path: string, content: FileContent): Promise<void> {
  await writePiecesAtomically({ path, bytes: content.bytes, next: "" }, content.pieces());
  assert.equal(Deno.statSync(path).size, content.bytes);
}

/** A fixture with the tokenizer that its GGUF file has. */
async function opened(
  gpu: Parameters<typeof loadModelFolder>[0],
  folder: string,
  name: (typeof fixtures)[number],
): Promise<LoadedModel> {
  const { metadata, tensors } = ggufOf(name);
  const path = join(folder, `${name}-source.gguf`);
  const all = { ...metadata, "tokenizer.chat_template": TEMPLATE };
  Deno.writeFileSync(path, encodeGguf(all, tensors));
  return await loadModelFolder(gpu, path, { trained: false, storage: "f32" });
}

onEveryGpu("gguf: a written model is read as it was, by every family", async (gpu) => {
  await withFolder(async (folder) => {
    for (const name of fixtures) {
      const source = await opened(gpu, folder, name);
      const before = await source.model.parameters.read();
      for (const type of ["F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_K"] as const) {
        const path = join(folder, `${name}-${type}.gguf`);
        await write(path, await ggufModel(source, type, name));
        const back = await loadModelFolder(gpu, path, { trained: false, storage: "f32" });
        assert.deepEqual(back.model.config, source.model.config, `${name} ${type}`);
        assert.deepEqual(back.stopTokens, source.stopTokens);
        assert.deepEqual(
          back.tokenizer.encode("ab, c!\nab"),
          source.tokenizer.encode("ab, c!\nab"),
        );
        assert.equal(back.tokenizer.settings.chat_template, TEMPLATE);
        compare(await back.model.parameters.read(), before, type);
        back.model.release();
      }
      source.model.release();
    }
  });
});

/** How far a type's numbers may lie from their own, of the largest in 32 of them. */
const MISSED: Readonly<Record<GgufType, number>> = {
  F32: 0,
  F16: 2 ** -11,
  BF16: 2 ** -8,
  // Half a step of 127, and a scale in f16.
  Q8_0: 0.5 / 127 + 2 ** -11,
  // One step where the sign of the largest leaves 7 on the other side.
  Q4_0: 1 / 8 + 2 ** -11,
  // The fixtures' rows are shorter than its blocks: 8 bits, or f16.
  Q4_K: 0.5 / 127 + 2 ** -11,
};

function compare(
  actual: Readonly<Record<string, Float32Array>>,
  expected: Readonly<Record<string, Float32Array>>,
  type: GgufType,
): void {
  assert.deepEqual(Object.keys(actual), Object.keys(expected));
  for (const [name, numbers] of Object.entries(expected)) {
    for (let first = 0; first < numbers.length; first += 32) {
      const part = numbers.subarray(first, first + 32);
      const largest = Math.max(...part.map(Math.abs));
      part.forEach((number, i) => {
        const missed = Math.abs(actual[name][first + i] - number);
        assert.ok(missed <= MISSED[type] * largest * 1.001, `${type} ${name} ${missed} ${largest}`);
      });
    }
  }
}

onEveryGpu(
  "gguf: an adapter alone has its base's names, and rows as llama.cpp has them",
  async (gpu) => {
    await withFolder(async (folder) => {
      const source = join(import.meta.dirname ?? "", "..", "..", "fixtures", "lora-llama");
      const model = await loadModel(gpu, source, { trained: false, storage: "f32" });
      const { adapter, config } = model;
      assert.ok(adapter);
      const weights = await adapter.parameters.read();
      const path = join(folder, "adapter.gguf");
      await write(path, await ggufAdapter(model, "adapter"));
      model.release();

      await assert.rejects(openModelSource(path), /is an adapter for llama\.cpp's --lora/);
      using file = await openGguf(path);
      assert.equal(file.metadata["general.type"], "adapter");
      assert.equal(file.metadata["adapter.type"], "lora");
      assert.equal(file.metadata["adapter.lora.alpha"], adapter.config.alpha);
      assert.equal(file.tensors.size, Object.keys(weights).length);
      const { rank } = adapter.config;
      for (
        const [gguf, module, rows] of [["attn_q", "self_attn.q_proj", 64], [
          "ffn_down",
          "mlp.down_proj",
          64,
        ]] as const
      ) {
        const peft = `base_model.model.model.layers.1.${module}`;
        const floats = (matrix: string, elements: number) =>
          new Float32Array(
            file.read(`blk.1.${gguf}.weight.lora_${matrix}`, 0, 4 * elements).buffer,
          );
        const a = weights[`${peft}.lora_A.weight`], b = weights[`${peft}.lora_B.weight`];
        assert.deepEqual(floats("a", a.length), a, gguf);
        const expected = gguf === "attn_q" ? interleave(b, rank, config.headDim) : b;
        assert.deepEqual(floats("b", rows * rank), expected, gguf);
      }
    });
  },
);

onEveryGpu(
  "gguf: numbers that a type does not keep are refused, and nothing is left",
  async (gpu) => {
    await withFolder(async (folder) => {
      const source = await opened(gpu, folder, "llama");
      const name = "model.layers.1.mlp.up_proj.weight";
      const weights = (await source.model.parameters.read())[name];
      weights[3] = 1e6;
      source.model.parameters.set({ [name]: weights });
      const path = join(folder, "wide.gguf");
      await assert.rejects(
        async () => await write(path, await ggufModel(source, "F16", "wide")),
        /^UserError: Tensor blk\.1\.ffn_up\.weight holds numbers beyond what F16 keeps/,
      );
      assert.deepEqual([...Deno.readDirSync(folder)].map(({ name }) => name), [
        "llama-source.gguf",
      ]);
      await write(path, await ggufModel(source, "BF16", "wide"));
      source.model.release();
    });
  },
);

Deno.test("gguf: a tokenizer that llama.cpp has no name for is refused", () => {
  assert.throws(() => tokenizerValues(mergedTokenizer(), 100, [0]), {
    name: "UserError",
    message: /cuts text as none does of which llama\.cpp's name is known/,
  });
});

Deno.test("gguf: a SentencePiece tokenizer cuts texts as it did once it is written", () => {
  const pieces = ["▁", "a", "b", "c", "▁a", "bc", "ab"];
  const metadata = {
    "tokenizer.ggml.model": "llama",
    "tokenizer.ggml.tokens": ["<unk>", "<s>", "</s>", "<0xC3>", "<0xA9>", ...pieces],
    "tokenizer.ggml.token_type": [2, 3, 3, 6, 6, ...pieces.map(() => 1)],
    "tokenizer.ggml.scores": [0, 0, 0, 0, 0, -9, -9, -9, -9, -1.5, -2.5, -3.5],
    "tokenizer.ggml.bos_token_id": 1,
    "tokenizer.ggml.eos_token_id": 2,
  };
  const read = (values: Readonly<Record<string, unknown>>) =>
    ggufTokenizer({
      path: "test.gguf",
      metadata: values,
      tensors: new Map(),
      read: () => new Uint8Array(),
      [Symbol.dispose]: () => {},
    });
  for (const add_space_prefix of [true, false]) {
    const first = read({ ...metadata, "tokenizer.ggml.add_space_prefix": add_space_prefix });
    const values = tokenizerValues(first, 14, [2]);
    const written = Object.fromEntries(
      Object.entries(values).map(([key, { value }]) => [key, value]),
    );
    assert.equal(written["tokenizer.ggml.model"], "llama");
    assert.equal(written["tokenizer.ggml.unknown_token_id"], 0);
    assert.deepEqual(
      written["tokenizer.ggml.token_type"],
      [...metadata["tokenizer.ggml.token_type"], 5, 5],
    );
    const second = read(written);
    for (const text of ["abc", "é a", "bcab a", "</s>ab"]) {
      assert.deepEqual(second.encode(text), first.encode(text), text);
      assert.equal(second.decode(first.encode(text)), first.decode(first.encode(text)));
    }
  }
});

Deno.test("gguf: whether a text begins with the first token is written, and kept of a file", () => {
  const { definition } = mergedTokenizer();
  const template = (first: string) => ({
    type: "TemplateProcessing",
    single: [{ SpecialToken: { id: first, type_id: 0 } }, { Sequence: { id: "A", type_id: 0 } }],
  });
  const begins = (post_processor: unknown, settings: Readonly<Record<string, unknown>> = {}) =>
    beginsWithBos(
      Tokenizer.fromJson(
        { ...definition, post_processor },
        { bos_token: "<bos>", ...settings },
        "test",
      ),
    );
  assert.equal(begins(null), false);
  assert.equal(begins(template("<bos>")), true);
  assert.equal(begins(template("<eos>")), false);
  assert.equal(begins({ type: "Sequence", processors: [template("<bos>")] }), true);
  assert.equal(begins(template("<bos>"), { add_bos_token: false }), false);
  assert.equal(begins(null, { add_bos_token: true }), true);
  for (const add of [true, false]) {
    const { metadata } = ggufOf("llama");
    const tokenizer = ggufTokenizer({
      path: "test.gguf",
      metadata: {
        ...metadata,
        "tokenizer.ggml.token_type": [],
        "tokenizer.ggml.add_bos_token": add,
      },
      tensors: new Map(),
      read: () => new Uint8Array(),
      [Symbol.dispose]: () => {},
    });
    assert.equal(beginsWithBos(tokenizer), add);
  }
});

const smollm2 = await smollm2File();

onEveryGpu("gguf: SmolLM2's tokenizer is written as it was read", async (gpu) => {
  if (smollm2 === null) return;
  const { model, tokenizer, stopTokens } = await loadModelFolder(gpu, smollm2, { trained: false });
  model.release();
  using file = await openGguf(smollm2);
  const values = tokenizerValues(tokenizer, model.config.vocabularySize, stopTokens);
  for (
    const key of ["model", "pre", "tokens", "token_type", "merges", "bos_token_id", "eos_token_id"]
  ) {
    const name = `tokenizer.ggml.${key}`;
    assert.deepEqual(values[name].value, file.metadata[name], name);
  }
});

onEveryGpu("gguf: F16 keeps the bits of a model in f16", async (gpu) => {
  await withFolder(async (folder) => {
    const source = await opened(gpu, folder, "qwen3");
    const first = join(folder, "first.gguf"), second = join(folder, "second.gguf");
    await write(first, await ggufModel(source, "F16", "model"));
    const halved = await loadModelFolder(gpu, first, { trained: false, storage: "f32" });
    await write(second, await ggufModel(halved, "F16", "model"));
    assert.deepEqual(Deno.readFileSync(first), Deno.readFileSync(second));
    const name = "model.layers.0.mlp.up_proj.weight";
    const [before, after] = [
      (await source.model.parameters.read())[name],
      (await halved.model.parameters.read())[name],
    ];
    assert.deepEqual(float32ToFloat16(after), float32ToFloat16(before));
    for (const { model } of [source, halved]) model.release();
  });
});

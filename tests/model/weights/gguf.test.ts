import assert from "node:assert/strict";
import fc from "fast-check";
import { UserError } from "../../../src/base/user_error.ts";
import { loadModel } from "../../../src/model/weights/model_folder.ts";
import { openModelSource } from "../../../src/model/weights/model_source.ts";
import { onEveryGpu } from "../../kernels/harness.ts";
import { fixtureFolder, fixtures } from "../fixture.ts";
import { ggufOf, type GgufParts } from "./fixture_gguf.ts";
import { encodeGguf, type GgufValue } from "./gguf_writer.ts";

async function withFile(
  bytes: Uint8Array,
  body: (path: string) => Promise<void>,
): Promise<void> {
  const path = Deno.makeTempFileSync({ suffix: ".gguf" });
  try {
    Deno.writeFileSync(path, bytes);
    await body(path);
  } finally {
    Deno.removeSync(path);
  }
}

onEveryGpu("gguf: a model has the shape and the bits of its folder", async (gpu) => {
  for (const name of fixtures) {
    const { metadata, tensors } = ggufOf(name);
    const folder = await loadModel(gpu, fixtureFolder(name), { trained: false });
    await withFile(encodeGguf(metadata, tensors), async (path) => {
      const model = await loadModel(gpu, path, { trained: false });
      assert.deepEqual(model.config, folder.config);
      assert.deepEqual(await model.parameters.read(), await folder.parameters.read(), name);
      model.release();
    });
    folder.release();
  }
});

const opens = (path: string) => openModelSource(path).then((source) => source[Symbol.dispose]());

const damages: readonly (readonly [string, (parts: GgufParts) => void, RegExp])[] = [
  [
    "another architecture",
    (p) => p.metadata["general.architecture"] = "gemma",
    /"gemma"; supported/,
  ],
  [
    "no layer count",
    (p) => delete p.metadata["llama.block_count"],
    /num_hidden_layers is undefined/,
  ],
  [
    "a type that cannot be read",
    ({ tensors }) => tensors[3] = { ...tensors[3], type: 10 },
    /Q2_K; readable are F32/,
  ],
  [
    "a type that does not exist",
    ({ tensors }) => tensors[3] = { ...tensors[3], type: 250 },
    /number 250; readable/,
  ],
  ["a tensor on another", ({ tensors }) => tensors[3] = { ...tensors[3], offset: 32 }, /overlap/],
  [
    "a tensor beyond the file",
    ({ tensors }) => tensors[3] = { ...tensors[3], offset: 2 ** 40 },
    /ends at byte/,
  ],
  [
    "a tensor of gigabytes",
    ({ tensors }) => tensors[3] = { ...tensors[3], dimensions: [2 ** 20, 2 ** 20] },
    /ends at byte|GGUF/,
  ],
  [
    "a tensor without elements",
    ({ tensors }) => tensors[3] = { ...tensors[3], dimensions: [0] },
    /impossible shape/,
  ],
  [
    "a tensor twice",
    ({ tensors }) => tensors[3] = { ...tensors[3], name: tensors[4].name },
    /appears twice/,
  ],
];

Deno.test("gguf: damaged and foreign files are refused by name", async () => {
  for (const [what, damage, message] of damages) {
    const parts = ggufOf("llama");
    damage(parts);
    await withFile(encodeGguf(parts.metadata, parts.tensors), async (path) => {
      await assert.rejects(opens(path), (error: Error) => {
        assert.ok(error instanceof UserError, `${what}: ${error.stack}`);
        assert.ok(error.message.includes(path), what);
        assert.match(error.message, message, what);
        return true;
      });
    });
  }
  const whole = encodeGguf(ggufOf("llama").metadata, ggufOf("llama").tensors);
  for (const length of [0, 3, 4, 12, 23, 100, 700, 2000, whole.length - 100]) {
    await withFile(whole.subarray(0, length), async (path) => {
      await assert.rejects(opens(path), { name: "UserError" }, `${length} bytes`);
    });
  }
});

Deno.test("gguf: any damage to the header is a UserError or harmless, never a crash", async () => {
  const { metadata, tensors } = ggufOf("llama");
  const whole = encodeGguf(metadata, tensors);
  const header = whole.length - tensors.reduce((sum, { data }) => sum + data.length, 0);
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.nat(header - 1), fc.nat(255)), { minLength: 1, maxLength: 4 }),
      async (changes) => {
        const bytes = whole.slice();
        for (const [at, value] of changes) bytes[at] = value;
        await withFile(bytes, async (path) => {
          await opens(path).catch((error) => assert.ok(error instanceof UserError, String(error)));
        });
      },
    ),
    { numRuns: 60 },
  );
});

onEveryGpu("gguf: weights of NaN are refused before anything is allocated", async (gpu) => {
  const { metadata, tensors } = ggufOf("qwen3");
  const data = tensors[5].data.slice();
  data.set([0, 0, 0xc0, 0x7f], data.length - 4);
  tensors[5] = { ...tensors[5], data };
  await withFile(encodeGguf(metadata, tensors), async (path) => {
    const { liveBytes } = gpu.pool;
    await assert.rejects(loadModel(gpu, path, { trained: false }), /holds NaN or infinity/);
    assert.equal(gpu.pool.liveBytes, liveBytes);
  });
});

async function tokenizerOf(metadata: Record<string, GgufValue>) {
  const parts = ggufOf("llama");
  let result: ReturnType<Awaited<ReturnType<typeof openModelSource>>["tokenizer"]> | undefined;
  await withFile(encodeGguf({ ...parts.metadata, ...metadata }, parts.tensors), async (path) => {
    using source = await openModelSource(path);
    result = source.tokenizer();
  });
  assert.ok(result);
  return result;
}

Deno.test("gguf: byte-level tokenizers are read with their special tokens and template", async () => {
  const tokenizer = await tokenizerOf({
    "tokenizer.ggml.pre": "smollm",
    "tokenizer.ggml.tokens": [
      "<|im_start|>",
      "<|im_end|>",
      "a",
      "b",
      "ab",
      "Ġ",
      "1",
      "2",
      "12",
      "Ġab",
    ],
    "tokenizer.ggml.token_type": { integers: [3, 3, 1, 1, 1, 1, 1, 1, 1, 1] },
    "tokenizer.ggml.merges": ["a b", "1 2", "Ġ ab"],
    "tokenizer.ggml.bos_token_id": 0,
    "tokenizer.ggml.eos_token_id": 1,
    "tokenizer.chat_template": "{{ messages[0].content }}",
  });
  // Digits stay apart, whatever the merges say.
  assert.deepEqual([...tokenizer.encode("<|im_start|>ab ab12<|im_end|>")], [0, 4, 9, 6, 7, 1]);
  assert.equal(tokenizer.decode([0, 4, 9, 6, 7, 1]), "ab ab12");
  assert.equal(tokenizer.specialToken("eos_token"), 1);
  assert.equal(tokenizer.settings.chat_template, "{{ messages[0].content }}");
});

Deno.test("gguf: SentencePiece scores become merges in their order", async () => {
  const tokenizer = await tokenizerOf({
    "tokenizer.ggml.model": "llama",
    "tokenizer.ggml.tokens": [
      "<unk>",
      "<s>",
      "</s>",
      "<0xC3>",
      "<0xA9>",
      "▁",
      "a",
      "b",
      "c",
      "▁a",
      "bc",
      "ab",
    ],
    "tokenizer.ggml.token_type": { integers: [2, 3, 3, 6, 6, 1, 1, 1, 1, 1, 1, 1] },
    "tokenizer.ggml.scores": { floats: [0, 0, 0, 0, 0, -9, -9, -9, -9, -1.5, -2.5, -3.5] },
    "tokenizer.ggml.eos_token_id": 2,
    "tokenizer.ggml.unknown_token_id": 0,
  });
  // "▁a" scores above "ab", so the second b meets c.
  assert.deepEqual([...tokenizer.encode("abc")], [9, 10]);
  assert.equal(tokenizer.decode([9, 10]), "abc");
  assert.deepEqual([...tokenizer.encode("é a")], [5, 3, 4, 9], "unknown letters by their bytes");
  assert.equal(tokenizer.decode([5, 3, 4, 9]), "é a");
});

Deno.test("gguf: a tokenizer of an unknown kind is refused by name", async () => {
  await assert.rejects(
    tokenizerOf({ "tokenizer.ggml.pre": "mystery" }),
    /pre is "mystery"; supported: default/,
  );
  await assert.rejects(
    tokenizerOf({ "tokenizer.ggml.model": "bert" }),
    /model is "bert"; supported: gpt2, llama/,
  );
});

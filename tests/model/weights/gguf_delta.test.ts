/** Models with DeltaNets as GGUF files, in which value heads have another order. llama.cpp was asked by hand; see docs/models.md. */

import assert from "node:assert/strict";
import { join } from "node:path";
import type { Gpu } from "../../../src/gpu/gpu.ts";
import { forwardSequences } from "../../../src/engine/training/forward.ts";
import { sizeOf } from "../../../src/model/decoder/layout.ts";
import { targetsIn } from "../../../src/model/decoder/lora.ts";
import { Model } from "../../../src/model/decoder/model.ts";
import { parseModelConfig } from "../../../src/model/weights/config/config_json.ts";
import type { FileContent } from "../../../src/model/weights/file_content.ts";
import { openGguf } from "../../../src/model/weights/gguf_file.ts";
import { ggufAdapter, ggufModel } from "../../../src/model/weights/gguf_model.ts";
import { type LoadedModel, loadModelFolder } from "../../../src/model/weights/model_folder.ts";
import { writePiecesAtomically } from "../../../src/platform/files/atomic_file.ts";
import { onEveryGpu, randomFloats } from "../../kernels/harness.ts";
import { largestDifference } from "../fixture.ts";
import { withFolder } from "../../server/written_run.ts";
import { fewBytePairs as tokenizer } from "./byte_pairs.ts";
import { encodeGguf, type GgufTensor, type GgufValue } from "./gguf_writer.ts";

const LAYERS = 5;
/** Every second layer attends; three value heads of 16 numbers for each of four key heads. */
const json = {
  ...{ model_type: "qwen3_5_text", vocab_size: 50, hidden_size: 32, intermediate_size: 64 },
  ...{ num_hidden_layers: LAYERS, num_attention_heads: 2, num_key_value_heads: 1, head_dim: 32 },
  ...{ linear_num_key_heads: 4, linear_num_value_heads: 12, linear_conv_kernel_dim: 3 },
  ...{ linear_key_head_dim: 16, linear_value_head_dim: 16, full_attention_interval: 2 },
  ...{ rms_norm_eps: 1e-5, max_position_embeddings: 128, tie_word_embeddings: true },
  rope_parameters: { rope_type: "default", rope_theta: 1e6, partial_rotary_factor: 0.5 },
};

/** Random weights of -1 to 1; release it. */
function modelOf(gpu: Gpu, keys: object): Model {
  const config = parseModelConfig({ ...json, ...keys }, "config.json");
  const model = Model.create(gpu, config, { trained: false });
  const named = [...model.parameters.shapes()].map(([name, shape], seed) => [
    name,
    randomFloats(sizeOf(shape), seed),
  ]);
  model.parameters.set(Object.fromEntries(named));
  return model;
}

const loadedOf = (model: Model): LoadedModel => ({ model, tokenizer, stopTokens: [0] });

async function write(path: string, content: FileContent): Promise<void> {
  await writePiecesAtomically({ path, bytes: content.bytes, next: "" }, content.pieces());
}

/**
 * llama.cpp's converter: what begins at `first` is seen as [keyHeads, perKey, size], and the first two axes change places.
 */
function swapped(
  numbers: Float32Array,
  first: number,
  keyHeads: number,
  perKey: number,
  size: number,
): Float32Array {
  const result = [...numbers.subarray(0, first)];
  for (let r = 0; r < perKey; r++) {
    for (let k = 0; k < keyHeads; k++) {
      const begin = first + (k * perKey + r) * size;
      result.push(...numbers.subarray(begin, begin + size));
    }
  }
  return Float32Array.from(result);
}

/** The same of the columns of a matrix. */
function swappedColumns(
  numbers: Float32Array,
  columns: number,
  ...heads: [number, number, number]
): Float32Array {
  const rows = Array.from(
    { length: numbers.length / columns },
    (_, row) => swapped(numbers.subarray(row * columns, (row + 1) * columns), 0, ...heads),
  );
  return Float32Array.from(rows.flatMap((row) => [...row]));
}

/** A tensor of the converter's file: its name in a layer, and what it makes of the numbers [rows, columns]. */
const inLayer: Readonly<
  Record<string, readonly [string, ((x: Float32Array, columns: number) => Float32Array)?]>
> = {
  "input_layernorm.weight": ["attn_norm.weight", (x) => x.map((one) => one + 1)],
  "post_attention_layernorm.weight": [
    "post_attention_norm.weight",
    (x) => x.map((one) => one + 1),
  ],
  "self_attn.q_proj.weight": ["attn_q.weight"],
  "self_attn.k_proj.weight": ["attn_k.weight"],
  "self_attn.v_proj.weight": ["attn_v.weight"],
  "self_attn.o_proj.weight": ["attn_output.weight"],
  "self_attn.q_norm.weight": ["attn_q_norm.weight", (x) => x.map((one) => one + 1)],
  "self_attn.k_norm.weight": ["attn_k_norm.weight", (x) => x.map((one) => one + 1)],
  "linear_attn.in_proj_qkv.weight": [
    "attn_qkv.weight",
    (x, C) => swapped(x, 2 * 4 * 16 * C, 4, 3, 16 * C),
  ],
  "linear_attn.in_proj_z.weight": ["attn_gate.weight", (x, C) => swapped(x, 0, 4, 3, 16 * C)],
  "linear_attn.in_proj_b.weight": ["ssm_beta.weight", (x, C) => swapped(x, 0, 4, 3, C)],
  "linear_attn.in_proj_a.weight": ["ssm_alpha.weight", (x, C) => swapped(x, 0, 4, 3, C)],
  "linear_attn.conv1d.weight": [
    "ssm_conv1d.weight",
    (x) => swapped(x, 2 * 4 * 16 * 3, 4, 3, 16 * 3),
  ],
  "linear_attn.A_log": ["ssm_a", (x) => swapped(x.map((one) => -Math.exp(one)), 0, 4, 3, 1)],
  "linear_attn.dt_bias": ["ssm_dt.bias", (x) => swapped(x, 0, 4, 3, 1)],
  "linear_attn.norm.weight": ["ssm_norm.weight"],
  "linear_attn.out_proj.weight": [
    "ssm_out.weight",
    (x) => swappedColumns(x, 12 * 16, 4, 3, 16),
  ],
  "mlp.gate_proj.weight": ["ffn_gate.weight"],
  "mlp.up_proj.weight": ["ffn_up.weight"],
  "mlp.down_proj.weight": ["ffn_down.weight"],
};

/** What the converter makes of a model, in the model's order. */
async function converted({ parameters }: Model): Promise<GgufTensor[]> {
  const weights = await parameters.read();
  return [...parameters.shapes()].map(([name, shape]) => {
    const [, layer, rest = ""] = /^model\.layers\.(\d+)\.(.+)$/.exec(name) ?? [];
    const columns = shape[1] ?? 1;
    const [inFile, change] = layer === undefined ? [] : inLayer[rest];
    const numbers = name === "model.norm.weight"
      ? weights[name].map((one) => one + 1)
      : change?.(weights[name], columns) ?? weights[name];
    const outside = name === "model.norm.weight" ? "output_norm.weight" : "token_embd.weight";
    return {
      name: inFile ? `blk.${layer}.${inFile}` : outside,
      dimensions: shape.filter((size, axis) => !(axis === 1 && size === 1)).toReversed(),
      type: 0,
      data: new Uint8Array(new Float32Array(numbers).buffer),
    };
  });
}

/** The header of the converter's file of `json`, without a tokenizer's. */
const header: Readonly<Record<string, GgufValue>> = {
  "general.architecture": "qwen35",
  "qwen35.block_count": LAYERS,
  "qwen35.context_length": 128,
  "qwen35.embedding_length": 32,
  "qwen35.feed_forward_length": 64,
  "qwen35.attention.head_count": 2,
  "qwen35.attention.head_count_kv": 1,
  "qwen35.attention.key_length": 32,
  "qwen35.attention.value_length": 32,
  "qwen35.attention.layer_norm_rms_epsilon": 1e-5,
  "qwen35.rope.freq_base": 1e6,
  "qwen35.rope.dimension_count": 16,
  "qwen35.rope.dimension_sections": { integers: [3, 3, 2, 0] },
  "qwen35.ssm.conv_kernel": 3,
  "qwen35.ssm.state_size": 16,
  "qwen35.ssm.group_count": 4,
  "qwen35.ssm.time_step_rank": 12,
  "qwen35.ssm.inner_size": 192,
  "qwen35.full_attention_interval": 2,
};
const texts: Readonly<Record<string, GgufValue>> = {
  "tokenizer.ggml.model": "gpt2",
  "tokenizer.ggml.pre": "qwen35",
  "tokenizer.ggml.tokens": Array.from({ length: 50 }, (_, i) => i === 0 ? "<eos>" : `t${i}`),
  "tokenizer.ggml.token_type": { integers: Array.from({ length: 50 }, (_, i) => i === 0 ? 3 : 1) },
  "tokenizer.ggml.merges": [],
  "tokenizer.ggml.eos_token_id": 0,
};

const f32 = { trained: false, storage: "f32" } as const;

/** Weights are the same but for what 1 + w and exp round of norms and decays, which are of -1 to 1. */
async function assertSame(gpu: Gpu, path: string, model: Model): Promise<void> {
  const back = await loadModelFolder(gpu, path, f32);
  const { kinds, ...config } = back.model.config;
  const all = Array.from({ length: LAYERS }, (_, i) => kinds[i % kinds.length]);
  const { kinds: expectedKinds, ...expected } = model.config;
  assert.deepEqual(config, expected);
  assert.deepEqual(all, all.map((_, i) => expectedKinds[i % expectedKinds.length]));
  const [found, weights] = [await back.model.parameters.read(), await model.parameters.read()];
  back.model.release();
  for (const [name, numbers] of Object.entries(weights)) {
    const isChanged = /norm\.weight$|A_log$/.test(name) && !/linear_attn\.norm/.test(name);
    // 1 + w is up to 2 and exp relatively rounded: half a unit of f32 there, and of the logarithm.
    const most = isChanged ? 2 ** -23 : 0;
    assert.ok(largestDifference(found[name], numbers) <= most, name);
  }
}

onEveryGpu("gguf: DeltaNets are written as llama.cpp's converter does", async (gpu) => {
  await withFolder(async (folder) => {
    const model = modelOf(gpu, {});
    const path = join(folder, "model.gguf");
    await write(path, await ggufModel(loadedOf(model), "F32", "model"));
    using file = await openGguf(path);
    for (const [key, value] of Object.entries(header)) {
      const plain = typeof value === "object" && "integers" in value ? value.integers : value;
      const found = file.metadata[key];
      if (typeof plain === "number") assert.equal(found, Math.fround(plain), key);
      else assert.deepEqual(found, plain, key);
    }
    const tensors = await converted(model);
    const data = encodeGguf({}, tensors);
    const bytes = tensors.reduce((sum, one) => sum + Math.ceil(one.data.length / 32) * 32, 0);
    assert.deepEqual(Deno.readFileSync(path).slice(-bytes), data.slice(-bytes));
    await assertSame(gpu, path, model);
    model.release();
  });
});

onEveryGpu("gguf: DeltaNets are read, and layers that guess ahead left out", async (gpu) => {
  await withFolder(async (folder) => {
    const path = join(folder, "model.gguf");
    const model = modelOf(gpu, {});
    const tensors = await converted(model);
    Deno.writeFileSync(path, encodeGguf({ ...header, ...texts }, tensors));
    await assertSame(gpu, path, model);
    const further = [`blk.${LAYERS}.nextn.eh_proj.weight`, `blk.${LAYERS}.attn_q.weight`]
      .map((name) => ({ name, dimensions: [4], type: 0, data: new Uint8Array(16) }));
    const guessing = { "qwen35.block_count": LAYERS + 1, "qwen35.nextn_predict_layers": 1 };
    const all = { ...header, ...texts, ...guessing };
    Deno.writeFileSync(path, encodeGguf(all, [...tensors, ...further]));
    await assertSame(gpu, path, model);
    model.release();
  });
});

onEveryGpu("gguf: of a DeltaNet's header what does not fit is named", async (gpu) => {
  await withFolder(async (folder) => {
    const model = modelOf(gpu, {});
    const tensors = await converted(model);
    model.release();
    const path = join(folder, "model.gguf");
    const refused = async (
      keys: Readonly<Record<string, GgufValue | undefined>>,
      message: RegExp,
      changed = tensors,
    ) => {
      const all = Object.entries({ ...header, ...texts, ...keys })
        .filter((entry): entry is [string, GgufValue] => entry[1] !== undefined);
      Deno.writeFileSync(path, encodeGguf(Object.fromEntries(all), changed));
      await assert.rejects(loadModelFolder(gpu, path, f32), { name: "UserError", message });
    };
    await refused({ "qwen35.ssm.group_count": undefined }, /ssm\.group_count is undefined/);
    await refused({ "qwen35.ssm.group_count": 5 }, /no multiple of linear_num_key_heads 5/);
    await refused({ "qwen35.ssm.inner_size": 190 }, /ssm\.inner_size 190 is no multiple of the 12/);
    await refused({ "qwen35.ssm.state_size": 12 }, /has shape \[320,32\]; config.json makes it/);
    await refused({ "qwen35.ssm.conv_kernel": 4 }, /conv1d\.weight has shape \[320,1,3\]/);
    await refused({ "qwen35.full_attention_interval": 3 }, /is missing/);
    await refused({ "qwen35.nextn_predict_layers": 5 }, /num_hidden_layers is 0/);
    await refused(
      { "qwen35.attention.recurrent_layers": { integers: [1, 0] } },
      /attention\.recurrent_layers is no list of true and false for 5 layers/,
    );
    const changed = (name: string, change: Partial<GgufTensor>) =>
      tensors.map((one) => one.name === name ? { ...one, ...change } : one);
    await refused(
      {},
      /a head's decay is not below 0, as ssm_a must be/,
      changed("blk.0.ssm_a", { data: new Uint8Array(48) }),
    );
    await refused(
      {},
      /decays are stored as F16; expected F32/,
      changed("blk.0.ssm_a", { type: 1, data: new Uint8Array(24) }),
    );
  });
});

onEveryGpu("gguf: DeltaNets that llama.cpp has no place for are refused", async (gpu) => {
  const refused = async (keys: object, message: RegExp) => {
    const model = modelOf(gpu, keys);
    await assert.rejects(ggufModel(loadedOf(model), "F32", "model"), {
      name: "UserError",
      message,
    });
    model.release();
  };
  const types = (letters: string) => ({
    layer_types: [...letters].map((one) => one === "d" ? "linear_attention" : "full_attention"),
  });
  await refused(
    { linear_value_head_dim: 8 },
    /no place for heads of 16 numbers in keys and of 8 in values of a DeltaNet/,
  );
  await refused(types("daddd"), /no place for layers of attention other than every nth/);
  await refused(types("addad"), /no place for layers of attention other than every nth/);
  await refused(types("ddddd"), /no place for a model without attention/);
  await refused(types("aaaaa"), /no place for a model without DeltaNets in qwen35/);
  await refused({ attention_bias: true }, /no place for these biases in qwen35/);
  const model = modelOf(gpu, {});
  model.parameters.set({ "model.layers.0.linear_attn.A_log": new Float32Array(12).fill(90) });
  await withFolder(async (folder) => {
    await assert.rejects(
      async () =>
        await write(join(folder, "a.gguf"), await ggufModel(loadedOf(model), "F32", "model")),
      /A_log is 90, of which llama\.cpp's f32 does not keep the power/,
    );
  });
  model.release();
});

/**
 * How far numbers of -1 to 1 may be off: half a step of 127; a step of 8; a step of 15 from the least to the largest.
 * Another head's are off by 2/3 on the average.
 */
const MISSED = { Q8_0: 0.5 / 127 + 2 ** -11, Q4_0: 1 / 8 + 2 ** -11, Q4_K: 2 / 15 } as const;

onEveryGpu("gguf: a DeltaNet's heads in blocks are put back, frozen in blocks too", async (gpu) => {
  await withFolder(async (folder) => {
    const wide = { linear_num_key_heads: 2, linear_num_value_heads: 4, linear_conv_kernel_dim: 4 };
    for (
      const [keys, types] of [
        [{ ...wide, linear_key_head_dim: 64, linear_value_head_dim: 64 }, ["Q8_0", "Q4_0", "Q4_K"]],
        // A block of 32 lies across two heads of 16: the last projection is then kept in f32.
        [{}, ["Q8_0"]],
      ] as const
    ) {
      const model = modelOf(gpu, { ...keys, hidden_size: 256, num_hidden_layers: 2 });
      const weights = await model.parameters.read();
      for (const type of types) {
        const path = join(folder, `${type}.gguf`);
        await write(path, await ggufModel(loadedOf(model), type, "model"));
        const whole = await loadModelFolder(gpu, path, f32);
        const found = await whole.model.parameters.read();
        for (const [name, numbers] of Object.entries(weights)) {
          const missed = largestDifference(found[name], numbers);
          assert.ok(missed <= MISSED[type], `${type} ${name} ${missed}`);
        }
        const blocks = await loadModelFolder(gpu, path, { trained: false, storage: "quantised" });
        const tokens = Uint32Array.from({ length: 30 }, (_, i) => (i * 17) % 50);
        const sequences = [{ tokens: tokens.slice(0, -1), targets: tokens.slice(1), first: 0 }];
        const options = { microBatchTokens: 64, sharePrompts: false };
        const [a, b] = [
          await forwardSequences(whole.model, sequences, options),
          await forwardSequences(blocks.model, sequences, options),
        ];
        assert.deepEqual(a[0].logProbs, b[0].logProbs, type);
        whole.model.release();
        blocks.model.release();
      }
      model.release();
    }
  });
});

onEveryGpu(
  "gguf: an adapter on DeltaNets has rows and columns as its base has them",
  async (gpu) => {
    await withFolder(async (folder) => {
      const base = modelOf(gpu, {});
      const targets = targetsIn(base.config, ["q_proj", "k_proj", "v_proj", "o_proj"]);
      const rank = 4;
      const model = base.adapted({
        config: { rank, alpha: 8, targets },
        basePath: "",
        trained: false,
      });
      base.release();
      const { adapter } = model;
      assert.ok(adapter);
      const shapes = adapter.parameters.shapes();
      adapter.parameters.set(
        Object.fromEntries(
          [...shapes].map(([name, shape], seed) => [name, randomFloats(sizeOf(shape), seed)]),
        ),
      );
      const weights = await adapter.parameters.read();
      const path = join(folder, "adapter.gguf");
      await write(path, await ggufAdapter(model, "adapter"));
      model.release();
      using file = await openGguf(path);
      assert.equal(file.tensors.size, Object.keys(weights).length);
      for (
        const [module, inFile] of [
          ["linear_attn.in_proj_qkv", "attn_qkv"],
          ["linear_attn.in_proj_z", "attn_gate"],
          ["linear_attn.in_proj_b", "ssm_beta"],
          ["linear_attn.in_proj_a", "ssm_alpha"],
          ["linear_attn.out_proj", "ssm_out"],
        ] as const
      ) {
        const floats = (matrix: string, { length }: Float32Array) =>
          new Float32Array(
            file.read(`blk.2.${inFile}.weight.lora_${matrix}`, 0, 4 * length).buffer,
          );
        const peft = `base_model.model.model.layers.2.${module}`;
        const a = weights[`${peft}.lora_A.weight`], b = weights[`${peft}.lora_B.weight`];
        const [, change] = inLayer[`${module}.weight`];
        assert.ok(change);
        const isLast = module === "linear_attn.out_proj";
        // The rows of B are those of the projection, the columns of A its columns.
        assert.deepEqual(floats("a", a), isLast ? change(a, 12 * 16) : a, module);
        assert.deepEqual(floats("b", b), isLast ? b : change(b, rank), module);
      }
    });
  },
);

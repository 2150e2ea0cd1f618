import assert from "node:assert/strict";
import { join } from "node:path";
import {
  type CharacterTokenizer,
  characterTokenizer,
  characterTokenizerConfig,
} from "../../../src/data/vocabulary.ts";
import type { Gpu } from "../../../src/gpu/gpu.ts";
import { modelFiles } from "../../../src/model/weights/model_files.ts";
import { loadModel, loadModelFolder } from "../../../src/model/weights/model_folder.ts";
import { alone } from "../../../src/distributed/communicator.ts";
import { onEveryRank } from "../../../src/distributed/placed.ts";
import { writeModelFolder } from "../../../src/run/store/weights_folder.ts";
import { Tokenizer } from "../../../src/model/tokenizer/tokenizer.ts";
import { onEveryGpu } from "../../kernels/harness.ts";
import { fixtureFolder, type FixtureName, fixtures } from "../fixture.ts";
import { bytesOf, encoded, readTensors, type Tensor } from "../safetensors_tensors.ts";

type Json = Record<string, unknown>;
type Tensors = Record<string, Tensor>;

/** A copy of a fixture's folder with changes made to it, gone after `body`. */
async function withFolder(
  name: FixtureName,
  change: {
    readonly config?: (config: Json) => void;
    readonly weights?: (tensors: Tensors) => void;
  },
  body: (folder: string) => Promise<void> | void,
): Promise<void> {
  const folder = Deno.makeTempDirSync();
  try {
    const config = JSON.parse(Deno.readTextFileSync(join(fixtureFolder(name), "config.json")));
    change.config?.(config);
    Deno.writeTextFileSync(join(folder, "config.json"), JSON.stringify(config));
    const tensors = readTensors(join(fixtureFolder(name), "model.safetensors"));
    change.weights?.(tensors);
    write(folder, { "model.safetensors": await encoded(tensors) });
    const json = (value: unknown) => JSON.stringify(value);
    write(folder, {
      "tokenizer.json": json(characterTokenizer()),
      "tokenizer_config.json": json(characterTokenizerConfig()),
    });
    await body(folder);
  } finally {
    Deno.removeSync(folder, { recursive: true });
  }
}

function write(folder: string, files: Record<string, string | Uint8Array>): void {
  for (const [name, content] of Object.entries(files)) {
    if (typeof content === "string") Deno.writeTextFileSync(join(folder, name), content);
    else Deno.writeFileSync(join(folder, name), content);
  }
}

/** Loading must fail with a message that names the file and matches. */
async function refuses(
  gpu: Gpu,
  folder: string,
  file: string,
  message: RegExp,
): Promise<void> {
  const { liveBytes } = gpu.pool;
  await assert.rejects(loadModelFolder(gpu, folder, { trained: false }), (error: Error) => {
    assert.equal(error.name, "UserError", error.stack);
    assert.ok(error.message.includes(join(folder, file)), error.message);
    assert.match(error.message, message);
    return true;
  });
  assert.equal(gpu.pool.liveBytes, liveBytes, "nothing is allocated for a refused model");
}

const badConfigs: [string, (config: Json) => void, RegExp][] = [
  [
    "an unknown architecture",
    (c) => c.model_type = "gpt2",
    /model_type is "gpt2".*llama, mistral, qwen2/,
  ],
  ["no architecture", (c) => delete c.model_type, /model_type is undefined/],
  ["no layers", (c) => c.num_hidden_layers = 0, /num_hidden_layers is 0.*positive integer/],
  [
    "layers beyond measure",
    (c) => c.num_hidden_layers = 1e9,
    /num_hidden_layers is 1000000000; expected at most \d+, the tensors in .*safetensors/,
  ],
  ["a width that is text", (c) => c.hidden_size = "64", /hidden_size is "64"/],
  ["heads that do not divide", (c) => c.num_key_value_heads = 3, /heads 4 .*key_value_heads 3/],
  ["an odd head size", (c) => c.head_dim = 12, /head_dim is 12.*multiple of 8/],
  ["scaled RoPE", (c) => c.rope_parameters = { rope_type: "dynamic" }, /rope type "dynamic"/],
  ["scaling that is text", (c) => c.rope_scaling = "linear", /rope_scaling is "linear".*an object/],
  [
    "a rotation of each type of layer",
    (c) => c.rope_parameters = { full_attention: { rope_type: "default" } },
    /rope_parameters\.full_attention is .*one rotation for all layers/,
  ],
  ["another activation", (c) => c.hidden_act = "gelu", /hidden_act is "gelu".*silu/],
  ["an epsilon of 0", (c) => c.rms_norm_eps = 0, /rms_norm_eps is 0/],
  ["biases that are text", (c) => c.attention_bias = "yes", /attention_bias is "yes".*true or/],
];

onEveryGpu("model folder: a configuration that cannot be used is refused", async (gpu) => {
  for (const [what, config, message] of badConfigs) {
    await withFolder("qwen3", { config }, async (folder) => {
      try {
        await refuses(gpu, folder, "config.json", message);
      } catch (cause) {
        throw new Error(what, { cause });
      }
    });
  }
});

onEveryGpu("model folder: a file where the folder should be is refused", async (gpu) => {
  await withFolder("llama", {}, async (folder) => {
    await assert.rejects(
      loadModel(gpu, join(folder, "model.safetensors"), { trained: false }),
      { name: "UserError", message: /model\.safetensors is a file; expected a folder/ },
    );
  });
});

const projection = "model.layers.1.self_attn.o_proj.weight";

const badWeights: [string, (tensors: Tensors) => void, RegExp][] = [
  ["a missing tensor", (t) => delete t[projection], /1\.self_attn\.o_proj\.weight .*is missing/],
  ["a tensor of another model", (t) => t.extra = t[projection], /tensor extra does not belong/],
  [
    "a transposed tensor",
    (t) => t[projection] = { ...t[projection], shape: t[projection].shape.toReversed() },
    /o_proj\.weight has shape \[64,48\]; config\.json makes it \[48,64\]/,
  ],
  [
    "a flat tensor",
    (t) => t[projection] = { ...t[projection], shape: [48 * 64] },
    /o_proj\.weight has shape \[3072\]/,
  ],
  [
    "a number that is none",
    (t) => (t[projection].data as Float32Array)[17] = NaN,
    /o_proj\.weight holds NaN or infinity/,
  ],
  [
    "an infinite number",
    (t) => (t["model.norm.weight"].data as Float32Array)[0] = -Infinity,
    /model\.norm\.weight holds NaN or infinity/,
  ],
  [
    "whole numbers for weights",
    (t) => t[projection] = { ...t[projection], dtype: "I32" },
    /o_proj\.weight" has dtype I32.*F32, F16 or BF16/,
  ],
];

// The harness also counts what a refused model leaves on the GPU.
onEveryGpu("model folder: weights that do not fit are refused", async (gpu) => {
  for (const [what, weights, message] of badWeights) {
    await withFolder("qwen3", { weights }, async (folder) => {
      try {
        await refuses(gpu, folder, "model.safetensors", message);
      } catch (cause) {
        throw new Error(what, { cause });
      }
    });
  }
});

onEveryGpu("model folder: who listens is told of all bytes that are read", async (gpu) => {
  await withFolder("llama", {}, async (folder) => {
    const told: (readonly [string, number, number])[] = [];
    gpu.activity.loads = (...of) => told.push(of);
    try {
      (await loadModelFolder(gpu, folder, { trained: false })).model.release();
    } finally {
      gpu.activity.loads = null;
    }
    const [, , total] = told[0];
    assert.ok(
      told.every(([path, done, all], i) =>
        path.startsWith(folder) && all === total && done > (told[i - 1]?.[1] ?? 0)
      ),
    );
    assert.equal(told.at(-1)?.[1], total);
    // The header is not among them.
    const { size } = Deno.statSync(join(folder, "model.safetensors"));
    assert.ok(total < size && total > size / 2, `${total} of ${size} bytes`);
  });
});

onEveryGpu("model folder: missing and damaged files are named", async (gpu) => {
  for (
    const [file, missing, damaged] of [
      ["config.json", /is missing; a model folder holds/, /is not JSON/],
      ["model.safetensors", /There is no file/, /has 1 bytes/],
      ["tokenizer.json", /is missing/, /is not JSON/],
      ["tokenizer_config.json", /is missing/, /is not JSON/],
    ] as const
  ) {
    await withFolder("llama", {}, async (folder) => {
      Deno.writeTextFileSync(join(folder, file), "{");
      await refuses(gpu, folder, file, damaged);
      Deno.removeSync(join(folder, file));
      await refuses(gpu, folder, file, missing);
      Deno.mkdirSync(join(folder, file));
      await refuses(gpu, folder, file, /is a folder; expected a file/);
    });
  }
});

onEveryGpu("model folder: a tokenizer with more tokens than the model is refused", async (gpu) => {
  const rows = (count: number) => (tensors: Tensors) => {
    for (const name of ["model.embed_tokens.weight", "lm_head.weight"]) {
      const { dtype, shape: [, width], data } = tensors[name];
      const cut = (data as Float32Array<ArrayBuffer>).slice(0, count * width);
      tensors[name] = { dtype, shape: [count, width], data: cut };
    }
  };
  const change = (count: number) => ({
    config: (config: Json) => config.vocab_size = count,
    weights: rows(count),
  });
  await withFolder("llama", change(63), async (folder) => {
    await refuses(gpu, folder, "tokenizer.json", /largest token id is 63 .*; vocab_size .* is 63/);
  });
  await withFolder("llama", change(64), async (folder) => {
    (await loadModelFolder(gpu, folder, { trained: false })).model.release();
    // Refused before a tokenizer is made, which would have room for every id.
    const refusesIds = async (change: (definition: CharacterTokenizer) => void, found: RegExp) => {
      const definition = characterTokenizer();
      change(definition);
      write(folder, { "tokenizer.json": JSON.stringify(definition) });
      await refuses(gpu, folder, "tokenizer.json", found);
    };
    await refusesIds(
      ({ model: { vocab } }) => vocab.q = 1_000_000_000,
      /largest token id is 1000000000 \("q" in model\.vocab\); vocab_size .* is 64/,
    );
    await refusesIds(
      ({ added_tokens }) => added_tokens[1].id = 1_000_000_000,
      /largest token id is 1000000000 \("<bos>" in added_tokens\); vocab_size .* is 64/,
    );
    await refusesIds(
      ({ model: { vocab } }) => vocab.q = 0.5,
      /the id of "q" in model\.vocab is 0\.5; expected a whole number/,
    );
  });
});

onEveryGpu("model folder: a model saved and loaded again is the same", async (gpu) => {
  const tokenizer = Tokenizer.fromJson(
    { ...characterTokenizer() },
    { ...characterTokenizerConfig() },
    "tokenizer.json",
  );
  for (const name of fixtures) {
    const model = await loadModel(gpu, fixtureFolder(name), { trained: false });
    const weights = await model.parameters.read();
    const { config } = model;
    const folder = Deno.makeTempDirSync();
    try {
      await writeModelFolder(folder, onEveryRank(alone, { model, tokenizer, stopTokens: [2] }));
      model.release();
      const again = await loadModelFolder(gpu, folder, { trained: false });
      assert.deepEqual(again.model.config, config);
      assert.deepEqual(await again.model.parameters.read(), weights);
      for (const [file, content] of Object.entries(modelFiles(again))) {
        const saved = Deno.readFileSync(join(folder, file));
        if (typeof content === "string") assert.equal(new TextDecoder().decode(saved), content);
        else assert.deepEqual(saved, await bytesOf(content), file);
      }
      const text = "<bos>cat dog?<step>cat:t</step>";
      assert.deepEqual(again.tokenizer.encode(text), tokenizer.encode(text));
      assert.equal(again.tokenizer.specialToken("eos_token"), 2);
      again.model.release();
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
  }
});

onEveryGpu("model folder: half-precision files give the numbers they hold", async (gpu) => {
  const values = Float32Array.of(1, -2.5, 0.15625);
  const bits = { F16: [0x3c00, 0xc100, 0x3100], BF16: [0x3f80, 0xc020, 0x3e20] };
  for (const dtype of ["F16", "BF16"] as const) {
    const weights = (tensors: Tensors) => {
      const data = Uint16Array.from({ length: 64 }, (_, i) => bits[dtype][i % 3]);
      tensors["model.norm.weight"] = { dtype, shape: [64], data };
    };
    await withFolder("llama", { weights }, async (folder) => {
      const model = await loadModel(gpu, folder, { trained: false });
      const { "model.norm.weight": norm } = await model.parameters.read();
      model.release();
      assert.deepEqual(norm, Float32Array.from({ length: 64 }, (_, i) => values[i % 3]));
    });
  }
});

onEveryGpu("model folder: shards are read as one, and the index is not trusted", async (gpu) => {
  await withFolder("llama", {}, async (folder) => {
    const whole = await loadModel(gpu, folder, { trained: false });
    const file = join(folder, "model.safetensors");
    const tensors = readTensors(file);
    Deno.removeSync(file);
    const names = Object.keys(tensors).sort();
    const shards = ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"];
    const shardOf = (name: string) => shards[names.indexOf(name) % 2];
    const writeShards = async (of: (name: string) => readonly string[]) => {
      for (const shard of shards) {
        const own = Object.entries(tensors).filter(([name]) => of(name).includes(shard));
        write(folder, { [shard]: await encoded(Object.fromEntries(own)) });
      }
    };
    const index = (map: unknown) =>
      write(folder, { "model.safetensors.index.json": JSON.stringify({ weight_map: map }) });
    await writeShards((name) => [shardOf(name)]);
    index(Object.fromEntries(names.map((name) => [name, shardOf(name)])));
    const joined = await loadModel(gpu, folder, { trained: false });
    assert.deepEqual(await joined.parameters.read(), await whole.parameters.read());
    joined.release();
    whole.release();

    const refusesIndex = (message: RegExp) =>
      refuses(gpu, folder, "model.safetensors.index.json", message);
    index({ [names[0]]: "../elsewhere.safetensors" });
    await refusesIndex(/weight_map names "..\/elsewhere.safetensors"/);
    index(undefined);
    await refusesIndex(/weight_map is missing/);
    index({ a: shards[0] });
    await refusesIndex(/tensor .* is missing/);
    await writeShards(() => shards);
    index({ a: shards[0], b: shards[1] });
    await refusesIndex(/is in .*00001-of.* and .*00002-of/);
    Deno.removeSync(join(folder, shards[1]));
    await refuses(gpu, folder, shards[1], /There is no file/);
  });
});

/** Adapters on experts in files: as PEFT saves them, as it saved them of experts that were modules, merged and as GGUF. */

import assert from "node:assert/strict";
import { join } from "node:path";
import type { Gpu } from "../../../src/gpu/gpu.ts";
import { plainExperts } from "../../../src/model/decoder/config.ts";
import { type LoraConfig, loraTargets, targetsOf } from "../../../src/model/decoder/lora.ts";
import { sizeOf } from "../../../src/model/decoder/layout.ts";
import type { Model } from "../../../src/model/decoder/model.ts";
import {
  type AdapterFolder,
  loadAdapterWeights,
  openAdapterFolder,
} from "../../../src/model/weights/adapter_folder.ts";
import type { FileContent } from "../../../src/model/weights/file_content.ts";
import { openGguf } from "../../../src/model/weights/gguf_file.ts";
import { ggufAdapter, ggufModel } from "../../../src/model/weights/gguf_model.ts";
import { mergeAdapter } from "../../../src/model/weights/merge.ts";
import { modelFiles, wholeModelFiles } from "../../../src/model/weights/model_files.ts";
import { loadModelFolder } from "../../../src/model/weights/model_folder.ts";
import { zerosOf } from "../../../src/model/weights/peft_experts.ts";
import { parsePeftConfig } from "../../../src/model/weights/peft.ts";
import { encodeSafetensors } from "../../../src/model/weights/safetensors.ts";
import { writePiecesAtomically } from "../../../src/platform/files/atomic_file.ts";
import { onEveryGpu } from "../../kernels/harness.ts";
import { withFolder } from "../../server/written_run.ts";
import { computed } from "../as_transformers.ts";
import {
  type ExpertAdapter,
  expertAdapterConfig,
  expertAdapterFolder,
  expertAdapterNames,
  expertAdapterNumbers,
  expertAdapters,
} from "../expert_adapters.ts";
import { familyModel, setFamilyAdapter } from "../families.ts";
import { largestDifference } from "../fixture.ts";
import { readTensors } from "../safetensors_tensors.ts";
import { tinyConfig, tinyModel } from "../tiny_model.ts";
import { fewBytePairs as tokenizer } from "./byte_pairs.ts";

async function write(path: string, content: string | FileContent): Promise<void> {
  if (typeof content === "string") return Deno.writeTextFileSync(path, content);
  await writePiecesAtomically({ path, bytes: content.bytes, next: "" }, content.pieces());
}

/** A model with an adapter, whose numbers are those of the fixtures or zeros. */
function adapted(gpu: Gpu, name: ExpertAdapter, isSet: boolean, config?: LoraConfig): Model {
  const base = familyModel(gpu, expertAdapters[name], { trained: false });
  const model = base.adapted({
    config: config ?? expertAdapterConfig(name, base.config),
    ...{ basePath: name.replace("-fused", ""), trained: false },
  });
  base.release();
  if (isSet) setFamilyAdapter(model);
  return model;
}

const readAdapter = ({ adapter }: Model) => {
  assert.ok(adapter);
  return adapter.parameters.read();
};

/** Reads an adapter's file into a model and holds its numbers to the fixtures'. */
async function assertRead(gpu: Gpu, name: ExpertAdapter, folder: AdapterFolder): Promise<void> {
  const expected = adapted(gpu, name, true), model = adapted(gpu, name, false, folder.config);
  assert.deepEqual(folder.config, expected.adapter?.config);
  await loadAdapterWeights(model, folder);
  assert.deepEqual(await readAdapter(model), await readAdapter(expected));
  model.release();
  expected.release();
}

/** Keys of adapter_config.json that say what an adapter is; lists in order. */
const meaning = (json: Readonly<Record<string, unknown>>) =>
  Object.fromEntries(
    ["peft_type", "task_type", "r", "lora_alpha", "rank_pattern", "alpha_pattern"].map((key) =>
      [key, json[key] ?? {}] as const
    ).concat(["target_modules", "target_parameters"].map((key) =>
      [key, [json[key] ?? []].flat().toSorted()] as const
    )),
  );

for (const name of expertAdapterNames) {
  onEveryGpu(`expert adapters: ${name} is read as PEFT saved it, and saved so`, async (gpu) => {
    const original = expertAdapterFolder(name);
    {
      using folder = openAdapterFolder(original);
      await assertRead(gpu, name, folder);
    }
    const model = adapted(gpu, name, true);
    await withFolder(async (place) => {
      const files = modelFiles({ model, tokenizer, stopTokens: [0] });
      for (const [file, content] of Object.entries(files)) await write(join(place, file), content);
      const [saved, expected] = [place, original].map((folder) =>
        readTensors(join(folder, "adapter_model.safetensors"))
      );
      assert.deepEqual(Object.keys(saved).toSorted(), Object.keys(expected).toSorted());
      for (const [tensor, { shape, data }] of Object.entries(expected)) {
        assert.deepEqual([saved[tensor].shape, saved[tensor].data], [shape, data], tensor);
      }
      const [found, wanted] = [place, original].map((folder) =>
        meaning(JSON.parse(Deno.readTextFileSync(join(folder, "adapter_config.json"))))
      );
      assert.deepEqual(found, wanted);
      using folder = openAdapterFolder(place);
      await assertRead(gpu, name, folder);
      const counts = Array.from(
        folder.weights.tensors,
        ([name, { shape }]) => sizeOf(shape) - zerosOf(folder.config, name, shape),
      );
      const count = counts.reduce((sum, one) => sum + one, 0);
      assert.equal(count, model.adapter?.parameters.count);
    });
    model.release();
  });
}

/** A tensor of a file that is changed. */
interface Changed {
  shape: readonly number[];
  data: Float32Array;
}

/** An adapter's folder with the tensors of experts one by one. */
async function writeOneByOne(
  folder: string,
  { adapter }: Model,
  modules: readonly string[],
): Promise<void> {
  assert.ok(adapter);
  const tensors = Array.from(
    adapter.parameters.tensors(),
    ([name, tensor]) => [name, { ...tensor, dtype: "F32" }] as const,
  );
  const content = encodeSafetensors(Object.fromEntries(tensors), { format: "pt" });
  await write(join(folder, "adapter_model.safetensors"), content);
  const json = {
    ...{ peft_type: "LORA", r: 4, lora_alpha: 6, target_modules: modules },
    base_model_name_or_path: "base",
  };
  await write(join(folder, "adapter_config.json"), JSON.stringify(json));
}

onEveryGpu("expert adapters: files of experts one by one are read", async (gpu) => {
  const attention = ["q_proj", "k_proj", "v_proj"];
  const delta = ["in_proj_qkv", "in_proj_z", "in_proj_b", "in_proj_a", "out_proj"];
  for (
    const [name, modules] of [
      ["qwen3moe-2", [...attention, "o_proj", "gate_proj", "up_proj", "down_proj"]],
      ["olmoe-5", [...attention, "o_proj", "gate_proj", "up_proj", "down_proj"]],
      ["lfm2moe-2", [...attention, "in_proj", "out_proj", "w1", "w2", "w3"]],
      ["qwen35moe-1", [...attention, ...delta, "o_proj", "gate_proj", "up_proj", "down_proj"]],
    ] as const
  ) {
    const model = adapted(gpu, name, true);
    await withFolder(async (place) => {
      await writeOneByOne(place, model, modules);
      using folder = openAdapterFolder(place);
      await assertRead(gpu, name, folder);
    });
    model.release();
  }
});

onEveryGpu("expert adapters: an adapter without experts' parts is read", async (gpu) => {
  const config: LoraConfig = { rank: 4, alpha: 6, targets: ["q_proj", "v_proj"] };
  const model = adapted(gpu, "qwen3moe-2", true, config);
  await withFolder(async (place) => {
    await writeOneByOne(place, model, config.targets);
    using folder = openAdapterFolder(place);
    assert.deepEqual(folder.config, config);
    const read = adapted(gpu, "qwen3moe-2", false, config);
    await loadAdapterWeights(read, folder);
    assert.deepEqual(await readAdapter(read), await readAdapter(model));
    read.release();
  });
  model.release();
});

onEveryGpu(
  "expert adapters: merged into a folder, a model says what it said with them",
  async (gpu) => {
    for (const name of expertAdapterNames) {
      const model = adapted(gpu, name, true);
      mergeAdapter(model);
      const loaded = { model, tokenizer, stopTokens: [0] };
      await withFolder(async (place) => {
        for (const [file, content] of Object.entries(wholeModelFiles(loaded))) {
          await write(join(place, file), content);
        }
        const { model: back } = await loadModelFolder(gpu, place, { trained: true });
        const expected = expertAdapterNumbers(`${name}.logits`);
        const { logits } = await computed(back);
        const largest = expected.reduce((most, x) => Math.max(most, Math.abs(x)), 0);
        // The merged weights are rounded once more.
        const error = largestDifference(logits, expected) / Math.max(1, largest);
        assert.ok(error < 2e-5, `${name}: ${error}`);
        back.release();
      });
      model.release();
    }
  },
);

// Models for which llama.cpp's format has a place.
onEveryGpu("expert adapters: merged, a GGUF file is read as it was written", async (gpu) => {
  for (const name of ["qwen3moe-0", "olmoe-0", "lfm2moe-1", "qwen35moe-3"]) {
    const base = familyModel(gpu, name, { trained: false });
    const before = await base.parameters.read();
    const config = { rank: 8, alpha: 8, targets: targetsOf(base.config) };
    const model = base.adapted({ config, basePath: "", trained: false });
    setFamilyAdapter(model);
    mergeAdapter(model);
    const weights = await model.parameters.read();
    assert.notDeepEqual(weights, before);
    await withFolder(async (place) => {
      const path = join(place, "model.gguf");
      await write(path, await ggufModel({ model, tokenizer, stopTokens: [0] }, "F32", name));
      const file = await loadModelFolder(gpu, path, { trained: false, storage: "f32" });
      const found = await file.model.parameters.read();
      for (const one of Object.keys(weights)) {
        // Of Qwen3.5 these are not in the file as they are (family_files.test.ts).
        const isOther = name.startsWith("qwen35") && /norm\.weight$|\.A_log$/.test(one);
        if (!isOther) assert.deepEqual(found[one], weights[one], one);
      }
      assert.deepEqual(Object.keys(found).toSorted(), Object.keys(weights).toSorted());
      file.model.release();
    });
    model.release();
    base.release();
  }
});

onEveryGpu("expert adapters: on quantised weights the bits are those of f32", async (gpu) => {
  const [dense] = tinyConfig.kinds;
  const experts = { ...plainExperts, count: 5, chosen: 2, innerSize: 64, normalised: true };
  const config = {
    architecture: "qwen3_moe",
    hiddenSize: 64,
    kinds: [{ ...dense, experts }],
  } as const;
  const whole = tinyModel(gpu, { config, trained: false });
  await withFolder(async (place) => {
    for (const type of ["Q8_0", "Q4_0"] as const) {
      const path = join(place, `${type}.gguf`);
      const loaded = { model: whole, tokenizer, stopTokens: [0] };
      await write(path, await ggufModel(loaded, type, "experts"));
      const found = [];
      for (const storage of ["quantised", "f32"] as const) {
        const { model } = await loadModelFolder(gpu, path, {
          ...{ trained: true, storage },
          lora: { rank: 4, alpha: 8, targets: loraTargets },
        });
        const { feedForward } = model.layers[0];
        assert.ok("experts" in feedForward && feedForward.gateUp.adapter);
        const { dtype } = feedForward.gateUp.weight.weight;
        assert.equal(dtype, storage === "f32" ? "f32" : type === "Q8_0" ? "q8" : "q4");
        setFamilyAdapter(model);
        found.push(await computed(model));
        model.release();
      }
      assert.deepEqual(found[0], found[1]);
    }
  });
  whole.release();
});

onEveryGpu(
  "expert adapters: a GGUF file has those of a layer's experts in one tensor",
  async (gpu) => {
    const model = adapted(gpu, "olmoe-5", true);
    const { experts } = model.config.kinds[0];
    assert.ok(experts);
    const numbers = await readAdapter(model);
    await withFolder(async (place) => {
      const path = join(place, "adapter.gguf");
      await write(path, await ggufAdapter(model, "adapter"));
      using file = await openGguf(path);
      for (
        const [name, part, shape] of [
          ["gate", "lora_A", [4, model.config.hiddenSize]],
          ["down", "lora_B", [model.config.hiddenSize, 4]],
        ] as const
      ) {
        const tensor = `blk.1.ffn_${name}_exps.weight.${part.toLowerCase()}`;
        const stored = file.tensors.get(tensor);
        assert.deepEqual(stored?.shape, [experts.count, ...shape]);
        const size = shape[0] * shape[1];
        for (let e = 0; e < experts.count; e++) {
          const bytes = file.read(tensor, 4 * e * size, 4 * size).slice();
          const own =
            `base_model.model.model.layers.1.mlp.experts.${e}.${name}_proj.${part}.weight`;
          assert.deepEqual(new Float32Array(bytes.buffer), numbers[own]);
        }
      }
    });
    // The one that all tokens share is by itself.
    const shared = adapted(gpu, "qwen35moe-1", true);
    const ofShared = await readAdapter(shared);
    await withFolder(async (place) => {
      const path = join(place, "adapter.gguf");
      await write(path, await ggufAdapter(shared, "adapter"));
      using file = await openGguf(path);
      const inFile = "blk.1.ffn_up_shexp.weight.lora_b";
      const stored = file.tensors.get(inFile);
      assert.ok(stored);
      const bytes = file.read(inFile, 0, 4 * sizeOf(stored.shape));
      const own = "base_model.model.model.layers.1.mlp.shared_expert.up_proj.lora_B.weight";
      assert.deepEqual(new Float32Array(bytes.slice().buffer), ofShared[own]);
    });
    shared.release();
    const fused = adapted(gpu, "olmoe-5-fused", true);
    await assert.rejects(ggufAdapter(fused, "adapter"), /as one, which llama.cpp has as two/);
    fused.release();
    model.release();
  },
);

onEveryGpu("expert adapters: files that are none of such a model are refused", async (gpu) => {
  const original = expertAdapterFolder("olmoe-5");
  const name = "base_model.model.model.layers.0.mlp.experts.base_layer.lora_B.weight";
  for (
    const [change, message] of [
      [(tensors: Record<string, Changed>) => {
        // A number of gate's rows at up's terms.
        tensors[name].data[tensors[name].shape[1] - 1] = 0.5;
      }, /lets gate_proj and up_proj of an expert share terms/],
      [(tensors: Record<string, Changed>) => {
        tensors[name].shape = tensors[name].shape.toReversed();
      }, /lora_B.weight has shape .*; the adapter's rank and the model make it/],
      [(tensors: Record<string, Changed>) => {
        delete tensors[name];
      }, /lora_B.weight .* is missing/],
    ] as const
  ) {
    await withFolder(async (place) => {
      Deno.copyFileSync(
        join(original, "adapter_config.json"),
        join(place, "adapter_config.json"),
      );
      const read = readTensors(join(original, "adapter_model.safetensors"));
      const tensors = Object.fromEntries(
        Object.entries(read).map(([key, { shape, data }]): [string, Changed] => [
          key,
          { shape, data: new Float32Array(data as Float32Array) },
        ]),
      );
      change(tensors);
      const streams = Object.entries(tensors).map(([key, { shape, data }]) =>
        [key, {
          ...{ dtype: "F32", shape } as const,
          async *pieces() {
            yield await Promise.resolve(data);
          },
        }] as const
      );
      const content = encodeSafetensors(Object.fromEntries(streams), { format: "pt" });
      await write(join(place, "adapter_model.safetensors"), content);
      using folder = openAdapterFolder(place);
      const model = adapted(gpu, "olmoe-5", false);
      await assert.rejects(loadAdapterWeights(model, folder), { name: "UserError", message });
      model.release();
    });
  }
});

Deno.test("expert adapters: one that leaves out some experts is refused", async () => {
  const original = expertAdapterFolder("qwen35moe-1");
  await withFolder((place) => {
    const copy = (name: string) => Deno.copyFileSync(join(original, name), join(place, name));
    const file = join(place, "adapter_config.json");
    copy("adapter_model.safetensors");
    copy("adapter_config.json");
    const json = JSON.parse(Deno.readTextFileSync(file));
    // Of the experts that are not shared one projection, or none.
    for (const target_parameters of [["mlp.experts.down_proj"], []]) {
      Deno.writeTextFileSync(
        file,
        JSON.stringify({ ...json, target_parameters, rank_pattern: {}, alpha_pattern: {} }),
      );
      assert.throws(() => openAdapterFolder(place), {
        name: "UserError",
        message: /_proj is adapted of the expert that all tokens share and not of the others/,
      });
    }
    return Promise.resolve();
  });
});

Deno.test("expert adapters: configurations that cannot be used are refused by key", () => {
  const good = {
    ...{ peft_type: "LORA", r: 8, lora_alpha: 16, target_modules: ["q_proj"] },
    target_parameters: ["mlp.experts.gate_up_proj", "mlp.experts.down_proj"],
    base_model_name_or_path: "base",
  };
  assert.deepEqual(parsePeftConfig(good, "f").lora.targets, [
    "q_proj",
    "experts.gate_up_proj",
    "experts.down_proj",
  ]);
  const each = {
    ...good,
    // As PEFT names them that it made of modules.
    target_parameters: ["down_proj", "gate_up_proj", "mlp.gate_proj.weight"],
    rank_pattern: { ".*\\.gate_up_proj": 16 },
    alpha_pattern: { ".*\\.gate_up_proj": 32 },
  };
  assert.deepEqual(parsePeftConfig(each, "f").lora.targets, [
    "q_proj",
    "gate_proj",
    "experts.gate_proj",
    "experts.up_proj",
    "experts.down_proj",
  ]);
  for (
    const [json, change, message] of [
      [good, { target_parameters: ["gate.weight"] }, /target_parameters is \["gate.weight"\]/],
      [good, { target_parameters: ["model.layers.1.mlp.experts.down_proj"] }, /target_parameters/],
      [good, { target_parameters: ["layers.1.mlp.down_proj.weight"] }, /target_parameters is/],
      [good, { target_parameters: "gate_up_proj" }, /target_parameters is "gate_up_proj"/],
      [each, { rank_pattern: { ".*\\.gate_up_proj": 24 } }, /rank_pattern is not empty/],
      [each, { alpha_pattern: { ".*\\.gate_up_proj": 16 } }, /alpha_pattern is not empty/],
      [each, { rank_pattern: {} }, /rank_pattern and alpha_pattern are not of the same/],
      [each, { target_parameters: ["mlp.experts.down_proj"] }, /rank_pattern is not empty/],
      [each, { rank_pattern: { q_proj: 16 } }, /rank_pattern is not empty/],
    ] as const
  ) {
    assert.throws(() => parsePeftConfig({ ...json, ...change }, "adapter_config.json"), {
      name: "UserError",
      message,
    });
  }
});

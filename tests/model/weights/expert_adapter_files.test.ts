/** Adapters on experts in files: as PEFT saves them, and as it saved them of experts that were modules. */

import assert from "node:assert/strict";
import { join } from "node:path";
import type { Gpu } from "../../../src/gpu/gpu.ts";
import { type LoraConfig } from "../../../src/model/decoder/lora.ts";
import { sizeOf } from "../../../src/model/decoder/layout.ts";
import type { Model } from "../../../src/model/decoder/model.ts";
import {
  type AdapterFolder,
  loadAdapterWeights,
  openAdapterFolder,
} from "../../../src/model/weights/adapter_folder.ts";
import { modelFiles } from "../../../src/model/weights/model_files.ts";
import { zerosOf } from "../../../src/model/weights/peft_experts.ts";
import { parsePeftConfig } from "../../../src/model/weights/peft.ts";
import { encodeSafetensors } from "../../../src/model/weights/safetensors.ts";
import { onEveryGpu } from "../../kernels/harness.ts";
import { withFolder } from "../../server/written_run.ts";
import { type ExpertAdapter, expertAdapterFolder, expertAdapterNames } from "../expert_adapters.ts";
import { readTensors } from "../safetensors_tensors.ts";
import { fewBytePairs as tokenizer } from "./byte_pairs.ts";
import { adapted, readAdapter, write } from "./adapted_experts.ts";

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

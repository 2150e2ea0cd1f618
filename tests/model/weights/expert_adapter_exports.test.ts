/** Adapters on experts on their way to others: merged into folders and GGUF files, and alone as GGUF. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { plainExperts } from "../../../src/model/decoder/config.ts";
import { loraTargets, targetsOf } from "../../../src/model/decoder/lora.ts";
import { sizeOf } from "../../../src/model/decoder/layout.ts";
import { openGguf } from "../../../src/model/weights/gguf_file.ts";
import { ggufAdapter, ggufModel } from "../../../src/model/weights/gguf_model.ts";
import { mergeAdapter } from "../../../src/model/weights/merge.ts";
import { wholeModelFiles } from "../../../src/model/weights/model_files.ts";
import { loadModelFolder } from "../../../src/model/weights/model_folder.ts";
import { onEveryGpu } from "../../kernels/harness.ts";
import { withFolder } from "../../server/written_run.ts";
import { computed } from "../as_transformers.ts";
import { expertAdapterNames, expertAdapterNumbers } from "../expert_adapters.ts";
import { familyModel, setFamilyAdapter } from "../families.ts";
import { largestDifference } from "../fixture.ts";
import { tinyConfig, tinyModel } from "../tiny_model.ts";
import { fewBytePairs as tokenizer } from "./byte_pairs.ts";
import { adapted, readAdapter, write } from "./adapted_experts.ts";

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

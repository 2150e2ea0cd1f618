/** Files with a text decoder among other parts. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { encodeSafetensors } from "../../../src/model/weights/safetensors.ts";
import { wholeModelFiles } from "../../../src/model/weights/model_files.ts";
import { loadModelFolder } from "../../../src/model/weights/model_folder.ts";
import { writePiecesAtomically } from "../../../src/platform/files/atomic_file.ts";
import { onEveryGpu } from "../../kernels/harness.ts";
import { withFolder } from "../../server/written_run.ts";
import { families, familyModel } from "../families.ts";
import { fewBytePairs as tokenizer } from "./byte_pairs.ts";

/** Float32 tensors as a file. */
const fileOf = (tensors: Readonly<Record<string, readonly [readonly number[], Float32Array]>>) =>
  encodeSafetensors(
    Object.fromEntries(
      Object.entries(tensors).map(([name, [shape, data]]) => [name, {
        dtype: "F32" as const,
        shape,
        async *pieces() {
          yield data;
        },
      }]),
    ),
    { format: "pt" },
  );

onEveryGpu("text part: pictures and guessed tokens are left out, and nothing else", async (gpu) => {
  const name = "qwen3_5-5";
  const model = familyModel(gpu, name, { trained: false });
  const weights = await model.parameters.read();
  const shapes = model.parameters.shapes();
  const files = wholeModelFiles({ model, tokenizer, stopTokens: [0] });
  const named = (prefix: string) =>
    Object.fromEntries(
      Object.entries(weights).map(([tensor, data]) => [
        tensor.replace(/^model\./, prefix),
        [shapes.get(tensor) ?? [], data] as const,
      ]),
    );
  const others = {
    "model.visual.blocks.0.norm1.weight": [[4], new Float32Array(4)],
    "mtp.fc.weight": [[2, 2], new Float32Array(4)],
  } as const;
  const whole = { model_type: "qwen3_5", text_config: families.models[name], vision_config: {} };
  const read = async (config: object, tensors: Parameters<typeof fileOf>[0]) =>
    await withFolder(async (folder) => {
      for (const [file, content] of Object.entries(files)) {
        if (typeof content === "string") Deno.writeTextFileSync(join(folder, file), content);
      }
      Deno.writeTextFileSync(join(folder, "config.json"), JSON.stringify(config));
      const content = fileOf(tensors);
      const path = join(folder, "model.safetensors");
      await writePiecesAtomically({ path, bytes: content.bytes, next: "" }, content.pieces());
      const back = await loadModelFolder(gpu, folder, { trained: false, storage: "f32" });
      try {
        assert.deepEqual(await back.model.parameters.read(), weights);
      } finally {
        back.model.release();
      }
    });
  try {
    const usual = families.models[name];
    await read(whole, { ...named("model.language_model."), ...others });
    await read(usual, { ...named("model."), "mtp.fc.weight": others["mtp.fc.weight"] });
    const stray = /tensor model\.visual\.blocks\.0\.norm1\.weight does not belong/;
    await assert.rejects(read(usual, { ...named("model."), ...others }), stray);
    const audio = { "model.audio.weight": others["mtp.fc.weight"] };
    await assert.rejects(
      read(whole, { ...named("model.language_model."), ...audio }),
      /tensor model\.audio\.weight does not belong/,
    );
    await assert.rejects(
      read(whole, { ...named("model.language_model."), ...named("model.") }),
      /are one and the same/,
    );
  } finally {
    model.release();
  }
});

onEveryGpu("text part: experts that lie in one tensor are taken apart", async (gpu) => {
  const name = "qwen35moe-5";
  const model = familyModel(gpu, name, { trained: false });
  const weights = await model.parameters.read();
  const shapes = model.parameters.shapes();
  const files = wholeModelFiles({ model, tokenizer, stopTokens: [0] });
  const { layers, hiddenSize: C, kinds: [{ experts }] } = model.config;
  model.release();
  assert.ok(experts);
  const { count: E, innerSize: I } = experts;
  const inFile = (tensor: string) => tensor.replace(/^model\./, "model.language_model.");
  const tensors: Record<string, readonly [readonly number[], Float32Array]> = {};
  for (const [tensor, data] of Object.entries(weights)) {
    if (!tensor.includes(".mlp.experts.")) {
      tensors[inFile(tensor)] = [shapes.get(tensor) ?? [], data];
    }
  }
  for (let layer = 0; layer < layers; layer++) {
    const module = `model.layers.${layer}.mlp.experts`;
    const joined = (parts: readonly string[]) =>
      Float32Array.from(
        Array.from({ length: E }, (_, e) => parts.map((part) => `${module}.${e}.${part}.weight`))
          .flat().flatMap((one) => [...weights[one]]),
      );
    tensors[inFile(`${module}.gate_up_proj`)] = [[E, 2 * I, C], joined(["gate_proj", "up_proj"])];
    tensors[inFile(`${module}.down_proj`)] = [[E, C, I], joined(["down_proj"])];
  }
  const read = async (changed: typeof tensors) =>
    await withFolder(async (folder) => {
      for (const [file, content] of Object.entries(files)) {
        if (typeof content === "string") Deno.writeTextFileSync(join(folder, file), content);
      }
      const config = { model_type: "qwen3_5_moe", text_config: families.models[name] };
      Deno.writeTextFileSync(join(folder, "config.json"), JSON.stringify(config));
      const content = fileOf(changed);
      const path = join(folder, "model.safetensors");
      await writePiecesAtomically({ path, bytes: content.bytes, next: "" }, content.pieces());
      const back = await loadModelFolder(gpu, folder, { trained: false, storage: "f32" });
      try {
        assert.deepEqual(await back.model.parameters.read(), weights);
      } finally {
        back.model.release();
      }
    });
  await read(tensors);
  const fused = inFile("model.layers.1.mlp.experts.gate_up_proj");
  const [, data] = tensors[fused];
  const others = [[2 * E, I, C], [E - 1, 2 * I, C], [E, 2 * I * C]] as const;
  for (const shape of others) {
    const size = shape.reduce((product: number, n) => product * n, 1);
    const changed = { ...tensors, [fused]: [shape, data.slice(0, size)] as const };
    await assert.rejects(read(changed), {
      name: "UserError",
      message: /mlp\.experts\.\d+\.gate_proj\.weight/,
    });
  }
});

import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { join } from "node:path";
import { z } from "zod";
import { alone } from "../../../src/distributed/communicator.ts";
import { onEveryRank } from "../../../src/distributed/placed.ts";
import type { Gpu } from "../../../src/gpu/gpu.ts";
import type { Tensor } from "../../../src/gpu/tensor.ts";
import { pieceBytes } from "../../../src/gpu/tensor_pieces.ts";
import type { ModelInTraining } from "../../../src/engine/training/saved_state.ts";
import { Model } from "../../../src/model/decoder/model.ts";
import { saveCheckpoint } from "../../../src/run/store/checkpoint.ts";
import { StoredCheckpoint } from "../../../src/run/store/stored_checkpoint.ts";
import {
  optimizerStepsOf,
  restoreTrained,
  trainedSets,
} from "../../../src/run/store/trained_models.ts";
import { onEveryGpu } from "../../kernels/harness.ts";
import { oneReducer as onlyReducer } from "../../../src/engine/training/reducer.ts";
import { Optimizer } from "../../../src/model/decoder/optimizer.ts";
import { tinyConfig } from "../../model/tiny_model.ts";

/** A model whose weights are longer than a piece. */
function largeModel(gpu: Gpu): ModelInTraining {
  const wide = { hiddenSize: 256, intermediateSize: 1536, layers: 1 };
  const model = Model.create(gpu, { ...tinyConfig, ...wide }, { trained: true });
  assert.ok(4 * model.parameters.count > pieceBytes);
  return { model, optimizer: new Optimizer(model, onlyReducer) };
}

function tensorsOf({ model: { parameters }, optimizer }: ModelInTraining): Tensor[] {
  return [...parameters.weights, ...optimizer.state.moments];
}

/** Every element of every tensor is another number. */
function pattern(size: number, tensor: number): Float32Array {
  return Float32Array.from({ length: size }, (_, i) => tensor + i / 16);
}

function bytesOf(data: ArrayBufferView): Buffer {
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
}

async function withModels(
  gpu: Gpu,
  body: (saved: ModelInTraining, loaded: ModelInTraining, folder: string) => Promise<void>,
): Promise<void> {
  const models = [largeModel(gpu), largeModel(gpu)];
  const folder = Deno.makeTempDirSync();
  try {
    tensorsOf(models[0]).forEach((tensor, i) => gpu.write(tensor, pattern(tensor.size, i)));
    models[0].optimizer.step = 7;
    await body(models[0], models[1], folder);
  } finally {
    Deno.removeSync(folder, { recursive: true });
    for (const { model, optimizer } of models) {
      optimizer.release();
      model.release();
    }
  }
}

async function save(folder: string, generator: ModelInTraining): Promise<string> {
  const models = { generator: onEveryRank(alone, generator) };
  const optimizerSteps = await optimizerStepsOf(models);
  const sets = await trainedSets(models);
  return await saveCheckpoint(folder, { step: 7, sets, state: { optimizerSteps } }, 1);
}

async function restore(path: string, generator: ModelInTraining): Promise<void> {
  const stored = new StoredCheckpoint(path);
  await restoreTrained(
    stored,
    stored.state(z.object({ optimizerSteps: z.record(z.string(), z.int()) })).optimizerSteps,
    { generator: onEveryRank(alone, generator) },
    (name) => name,
  );
}

onEveryGpu("trained models: what is longer than a piece comes back bit for bit", async (gpu) => {
  await withModels(gpu, async (saved, loaded, folder) => {
    const { weightsVersion } = loaded.model;
    await restore(await save(folder, saved), loaded);
    for (const [i, tensor] of tensorsOf(loaded).entries()) {
      const read = bytesOf(await gpu.read(tensor));
      assert.ok(read.equals(bytesOf(pattern(tensor.size, i))), `tensor ${i}`);
    }
    assert.equal(loaded.optimizer.step, 7);
    assert.notEqual(loaded.model.weightsVersion, weightsVersion);
  });
});

onEveryGpu("trained models: damage behind the last piece is found all the same", async (gpu) => {
  await withModels(gpu, async (saved, loaded, folder) => {
    const path = await save(folder, saved);
    using file = Deno.openSync(join(path, "generator.safetensors"), { read: true, write: true });
    file.seekSync(-1, Deno.SeekMode.End);
    file.writeSync(Uint8Array.of(0xff));
    await assert.rejects(restore(path, loaded), {
      name: "UserError",
      message: /cannot be used: the content of generator\.safetensors has changed/,
    });
    assert.equal(loaded.optimizer.step, 0);
  });
});

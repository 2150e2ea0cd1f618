/**
 * Frozen weights in f16, bf16 and quantised blocks: the kernels widen them exactly, so a model stored so gives the
 * very bits that an f32 model of the same (rounded) weights gives. Differences are compared with 0.
 */

import assert from "node:assert/strict";
import type { Gpu } from "../../../src/gpu/gpu.ts";
import type { MatrixType } from "../../../src/gpu/tensor.ts";
import type { LaneKind, Tuning } from "../../../src/gpu/tuning.ts";
import {
  isQuantisedStoredType,
  storedBytes,
  type StoredType,
  storedTypes,
} from "../../../src/kernels/parts/stored_type.ts";
import { RandomStream } from "../../../src/random/philox.ts";
import { initialise, initialiseAdapter } from "../../../src/model/decoder/initialise.ts";
import {
  type Block,
  parameterBlocks,
  sizeOf,
  storageOfTensor,
} from "../../../src/model/decoder/layout.ts";
import { loraTargets } from "../../../src/model/decoder/lora.ts";
import { linearsOf, Model } from "../../../src/model/decoder/model.ts";
import { loadModel } from "../../../src/model/weights/model_folder.ts";
import { loadWeights } from "../../../src/model/weights/load_weights.ts";
import { type FrozenStorage, frozenStorageOf } from "../../../src/model/weights/weight_storage.ts";
import type { WeightFile } from "../../../src/model/weights/weight_file.ts";
import { updatePolicy } from "../../../src/rl/update/policy_update.ts";
import { generate } from "../../engine/sampling/generate.ts";
import { onEveryGpu } from "../../kernels/harness.ts";
import { lossOptions } from "../../rl/update/loss_options.ts";
import { fixtureFolder } from "../fixture.ts";
import { adamwNumbers, tinyConfig, tinyTrainer } from "../tiny_model.ts";

/** A frozen base with a trained adapter, whose B is not zero. */
function adapted(gpu: Gpu, base: Model): Model {
  const config = { rank: 4, alpha: 8, targets: [...loraTargets] };
  const model = base.adapted({ config, basePath: "", trained: true });
  const parameters = model.adapter?.parameters;
  if (!parameters) throw new Error("no adapter");
  initialiseAdapter(parameters, 3);
  for (const weights of parameters.weights) {
    gpu.write(weights, Float32Array.from({ length: weights.size }, (_, i) => Math.sin(i) / 8));
  }
  return model;
}

/** What a rollout and an update of the adapter give. */
async function outcome(gpu: Gpu, base: Model) {
  const model = adapted(gpu, base);
  const trainer = tinyTrainer(model);
  const prompt = Uint32Array.from({ length: 9 }, (_, i) => (7 * i) % 64);
  const [responses] = await generate(model, [{ prompt, sequenceIds: [0, 1, 2] }], {
    temperature: 1,
    topK: 0,
    topP: 1,
    minP: 0,
    seed: 3,
    stream: 2,
    step: 1,
    stopTokens: [],
    maximumResponse: 10,
    slots: 2,
    stepsBetweenReadbacks: 5,
  });
  const samples = responses.map(({ tokens, logProbs }, i) => ({
    prompt,
    response: tokens,
    oldLogProbs: logProbs,
    advantages: new Float32Array(tokens.length).fill(i - 1),
  }));
  const metrics = await updatePolicy(
    trainer,
    base,
    samples,
    lossOptions({ klCoefficient: 0.1 }),
    adamwNumbers(1e-3),
  );
  assert.equal(metrics.logProbDifferenceMax, 0);
  const adapter = await model.adapter?.parameters.read();
  trainer.release();
  model.release();
  return { responses, metrics, adapter };
}

onEveryGpu(
  "a model stored in halves computes what an f32 model of the same weights does",
  async (gpu) => {
    const live = gpu.pool.liveBytes;
    for (const tiedEmbeddings of [true, false]) {
      const config = { ...tinyConfig, tiedEmbeddings, biases: { ...tinyConfig.biases, qkv: true } };
      const whole = Model.create(gpu, config, { trained: false });
      const wholeBytes = gpu.pool.liveBytes - live;
      for (const storage of ["f16", "bf16"] as const) {
        const half = Model.create(gpu, config, { trained: false, storage });
        assert.ok(gpu.pool.liveBytes - live - wholeBytes < 0.8 * wholeBytes);
        initialise(half, 1, 0.3);
        const rounded = await half.parameters.read();
        whole.parameters.set(rounded);
        assert.deepEqual(await whole.parameters.read(), rounded);
        assert.deepEqual(await outcome(gpu, half), await outcome(gpu, whole), storage);
        half.release();
      }
      whole.release();
    }
    assert.equal(gpu.pool.liveBytes, live);
  },
);

/** Blocks of random quants, whose scales and minima are small. */
function randomBlocks(type: StoredType, elements: number, seed: number): Uint8Array<ArrayBuffer> {
  const random = new RandomStream(seed, 7);
  const bytes = new Uint8Array(storedBytes(type, elements)).map(() => 256 * random.uniform());
  const view = new DataView(bytes.buffer);
  const scales = type === "Q6_K" ? [208] : /_1$|_[45]K$|_K$/.test(type) ? [0, 2] : [0];
  for (let block = 0; block < bytes.length; block += storedTypes[type].bytes) {
    for (const at of scales) {
      view.setFloat16(block + at, (random.uniform() - 0.5) / (/K$/.test(type) ? 2048 : 64), true);
    }
  }
  return bytes;
}

/** A file of random weights, in memory: types by the end of a tensor's name. */
function randomFile(
  blocks: readonly Block[],
  typeOf: (name: string) => StoredType,
): WeightFile {
  const shapes = new Map(
    blocks.flatMap(({ tensors }) => tensors.map((part) => [part.name, part.shape])),
  );
  const contents = new Map([...shapes].map(([name, shape], seed) => {
    const size = sizeOf(shape);
    const type = shape.length > 1 ? typeOf(name) : "F32";
    const bytes = isQuantisedStoredType(type)
      ? randomBlocks(type, size, seed)
      : new Uint8Array(new Float32Array(size).fill(1).buffer);
    return [name, { type, bytes }];
  }));
  return {
    path: "random.gguf",
    tensors: new Map([...contents].map(([name, { type }]) => {
      const interleavedHead = /[qk]_proj/.test(name) ? 64 : 0;
      return [name, { type, shape: shapes.get(name)!, interleavedHead, file: "random.gguf" }];
    })),
    read: (name, begin, bytes) => contents.get(name)!.bytes.slice(begin, begin + bytes),
    [Symbol.dispose]: () => {},
  };
}

onEveryGpu(
  "a model in quantised blocks computes what an f32 model of the same file does",
  async (gpu) => {
    const live = gpu.pool.liveBytes;
    const config = {
      ...tinyConfig,
      layers: 1,
      hiddenSize: 256,
      intermediateSize: 256,
      headDim: 64,
      qkNorm: false,
    };
    const blocks = parameterBlocks(config);
    // Two types of one block, or of none that 4 bits keep, lie in 8 bits.
    const types = {
      embed_tokens: "Q4_1",
      q_proj: "Q4_K",
      k_proj: "Q4_K",
      v_proj: "Q6_K",
      o_proj: "Q4_0",
      gate_proj: "Q5_K",
      up_proj: "Q5_1",
      down_proj: "Q4_K",
      lm_head: "Q8_0",
    } as const;
    const typeOf = (name: string) => {
      const found = Object.entries(types).find(([part]) => name.includes(part));
      if (!found) throw new Error(name);
      return found[1];
    };
    const file = randomFile(blocks, typeOf);
    const loaded = async (asked: FrozenStorage) => {
      const storage = frozenStorageOf(gpu.tuning, asked, file, blocks);
      const model = Model.create(gpu, config, { trained: false, storage });
      await loadWeights(gpu, model.parameters, file);
      return model;
    };
    const whole = await loaded("f32");
    const wholeBytes = gpu.pool.liveBytes - live;
    const quantised = await loaded("quantised");
    const { parameters } = quantised;
    const [layer] = quantised.layers;
    assert.deepEqual(
      [quantised.embedding[0], ...linearsOf(layer).map(({ weight }) => weight)]
        .concat(quantised.head[0], layer.inputNorm)
        .map(({ weight }) => weight.dtype),
      ["q4", "q8", "q4", "q8", "q4k", "q8", "f32"],
    );
    assert.ok(gpu.pool.liveBytes - live - wholeBytes < 0.5 * wholeBytes);
    assert.deepEqual(await parameters.read(), await whole.parameters.read());
    assert.deepEqual(await outcome(gpu, quantised), await outcome(gpu, whole));
    assert.throws(
      () => parameters.set({ "model.layers.0.mlp.down_proj.weight": new Float32Array(256 * 256) }),
      /weights in q4k cannot be set/,
    );
    whole.release();
    quantised.release();
    assert.equal(gpu.pool.liveBytes, live);
  },
);

Deno.test("the storage that keeps a file's matrices: theirs when all have one; of quantised ones by the lanes", () => {
  const storageFor = (
    asked: FrozenStorage,
    lanes: LaneKind,
    ...types: readonly string[]
  ): MatrixType[] => {
    const tensors = new Map(types.map((type, i) => [`${i}`, { type, shape: [8, 8] }]));
    const part = (name: string, shape: number[]) => ({
      name,
      shape,
      first: 0,
      size: 64,
      offset: 0,
    });
    const blocks = types.map((_, i) => ({
      key: `${i}`,
      shape: [8, 8],
      tensors: [part(`${i}`, [8, 8])],
    }));
    const norm = { key: "norm", shape: [8], tensors: [part("norm", [8])] };
    const all = new Map([...tensors, ["norm", { type: "F32", shape: [8] }]]);
    const file = { path: "model", tensors: all } as unknown as WeightFile;
    const tuning = { lanes } as Tuning;
    const storage = frozenStorageOf(tuning, asked, file, [...blocks, norm]);
    return types.map((_, i) => storageOfTensor(storage, `${i}`));
  };
  for (const lanes of ["cpu", "gpu"] as const) {
    assert.deepEqual(storageFor("auto", lanes, "F32", "F32"), ["f32", "f32"]);
    assert.deepEqual(storageFor("auto", lanes, "F16", "F16"), ["f16", "f16"]);
    assert.deepEqual(storageFor("auto", lanes, "BF16"), ["bf16"]);
    assert.deepEqual(storageFor("auto", lanes, "BF16", "F32"), ["f32", "f32"]);
    assert.deepEqual(storageFor("f16", lanes, "Q4_0", "F32"), ["f16", "f16"]);
    assert.deepEqual(storageFor("quantised", lanes, "Q4_K", "Q6_K", "BF16"), ["q4k", "q8", "bf16"]);
    assert.throws(() => storageFor("quantised", lanes, "F16"), /model holds no quantised weights/);
  }
  assert.deepEqual(storageFor("auto", "cpu", "Q4_K", "Q6_K", "F16"), ["f16", "f16", "f16"]);
  assert.deepEqual(storageFor("auto", "cpu", "BF16", "Q8_0"), ["f32", "f32"]);
  assert.deepEqual(storageFor("auto", "gpu", "Q4_1", "Q4_K", "F16"), ["q4", "q4k", "f16"]);
});

onEveryGpu(
  "quantised blocks are refused where weights are trained or are not quantised",
  async (gpu) => {
    const path = fixtureFolder("llama");
    const load = (trained: boolean) => loadModel(gpu, path, { trained, storage: "quantised" });
    await assert.rejects(load(true), /these weights are to be trained.* Add lora/);
    await assert.rejects(load(false), /holds no quantised weights/);
  },
);

/** Low-rank adapters against PEFT, and on one shared base. */

import assert from "node:assert/strict";
import { join } from "node:path";
import type { Gpu } from "../../../src/gpu/gpu.ts";
import { backward } from "../../../src/model/decoder/backward.ts";
import { forwardForTraining, forwardOnly } from "../../../src/model/decoder/forward.ts";
import { headBackward, headForward, headLogits } from "../../../src/model/decoder/head.ts";
import { mergeAdapter } from "../../../src/model/weights/merge.ts";
import { modelFiles, wholeModelFiles } from "../../../src/model/weights/model_files.ts";
import { FrozenBases, loadModel } from "../../../src/model/weights/model_folder.ts";
import type { Model } from "../../../src/model/decoder/model.ts";
import { packSequences } from "../pack_sequences.ts";
import { parsePeftConfig } from "../../../src/model/weights/peft.ts";
import { Tokenizer } from "../../../src/model/tokenizer/tokenizer.ts";
import { characterTokenizer, characterTokenizerConfig } from "../../../src/data/vocabulary.ts";
import { generate } from "../../engine/sampling/generate.ts";
import { updatePolicy } from "../../../src/rl/update/policy_update.ts";
import { writeFiles } from "../../../src/run/store/weights_folder.ts";
import { onEveryGpu } from "../../kernels/harness.ts";
import { fixtureFolder, largestDifference } from "../fixture.ts";
import { readTensors, type Tensor as FileTensor } from "../safetensors_tensors.ts";
import { lossOptions } from "../../rl/update/loss_options.ts";
import { adamwNumbers, tinyTrainer } from "../tiny_model.ts";

const adapterFolder = (name: string) => join("tests", "fixtures", `lora-${name}`);
const names = ["llama", "qwen2"] as const;

async function adapterGradients(model: Model): Promise<Record<string, Float32Array>> {
  const { parameters } = model.adapter ?? {};
  assert.ok(parameters?.gradients);
  return parameters.name(await model.gpu.readAll(parameters.gradients) as Float32Array[]);
}

function batchOf(reference: Record<string, FileTensor>) {
  const [tokens, targets, bounds] = ["tokens", "targets", "cu_seqlens"].map((name) =>
    reference[name].data as Int32Array
  );
  const sequences = Array.from(
    { length: bounds.length - 1 },
    (_, s) => Uint32Array.from(tokens.subarray(bounds[s], bounds[s + 1])),
  );
  return { targets, sequences };
}

/** [T, V], without padding. */
async function logitsOf(
  gpu: Gpu,
  model: Model,
  reference: Record<string, FileTensor>,
): Promise<Float32Array> {
  const { targets: { length: T }, sequences } = batchOf(reference);
  const made = gpu.scope(
    () => headLogits(model, forwardOnly(model, packSequences(gpu, sequences))),
    (kept) => [kept],
  );
  const padded = await gpu.readFloats(made);
  gpu.release(made);
  const V = model.config.vocabularySize, stride = padded.length / T;
  const logits = new Float32Array(T * V);
  for (let t = 0; t < T; t++) logits.set(padded.subarray(t * stride, t * stride + V), t * V);
  return logits;
}

/** The adapter's gradients of the mean cross-entropy of all tokens that have a target. */
async function gradientsOf(
  gpu: Gpu,
  model: Model,
  reference: Record<string, FileTensor>,
): Promise<Record<string, Float32Array>> {
  const { targets, sequences } = batchOf(reference);
  const T = targets.length;
  const predicted = targets.filter((target) => target >= 0).length;
  const slopes = Float32Array.from(targets, (target) => target >= 0 ? -1 / predicted : 0);
  gpu.scope(() => {
    const batch = packSequences(gpu, sequences);
    const activations = forwardForTraining(model, batch);
    const target = gpu.from(Uint32Array.from(targets, (t) => Math.max(t, 0)), [T]);
    const head = headForward(model, activations.hidden, target, 1);
    const [slope, none] = [gpu.from(slopes, [T]), gpu.zeros([T])];
    const dHidden = headBackward(model, activations.hidden, target, 1, head, slope, none, null);
    Array.from(backward(model, batch, activations, dHidden, null));
  });
  return await adapterGradients(model);
}

for (const name of names) {
  onEveryGpu(`lora: ${name}, logits and gradients of PEFT`, async (gpu) => {
    const reference = readTensors(join(adapterFolder(name), "reference.safetensors"));
    const model = await loadModel(gpu, adapterFolder(name), { trained: true });
    const logits = await logitsOf(gpu, model, reference);
    const gradients = await gradientsOf(gpu, model, reference);
    assert.equal(model.parameters.gradients, null, "the base is frozen");
    const found = {
      logits,
      ...Object.fromEntries(
        Object.entries(gradients).map(([key, value]) => [`grad.${key}`, value]),
      ),
    };
    const wanted = Object.keys(reference).filter((key) => /^(logits|grad\.)/.test(key));
    assert.deepEqual(Object.keys(found).sort(), wanted.sort());
    for (const [key, actual] of Object.entries(found)) {
      const expected = reference[key].data as Float32Array;
      const [error] = reference[`float32_error.${key}`].data as Float32Array;
      const difference = largestDifference(actual, expected);
      const largest = expected.reduce((worst, x) => Math.max(worst, Math.abs(x)), 0);
      // Some eightfold of what float32 PyTorch itself is off, and never below a rounding of the largest.
      const bound = 8 * error + 4e-7 * largest;
      assert.ok(difference <= bound, `${key}: ${difference} of at most ${bound}`);
      assert.ok(largest > 0, key);
    }
    model.release();
  });
}

onEveryGpu(
  "lora: two adapters and a reference share one base; a new adapter changes nothing",
  async (gpu) => {
    const base = fixtureFolder("qwen3");
    const lora = { rank: 8, alpha: 16, targets: ["q_proj", "down_proj"] } as const;
    const bases = new FrozenBases();
    const whole = await loadModel(gpu, base, { trained: false, bases });
    const alone = gpu.pool.liveBytes;
    const models = [
      await loadModel(gpu, base, { trained: true, lora, seed: 1, bases }),
      await loadModel(gpu, base, { trained: true, lora, seed: 2, bases }),
      await loadModel(gpu, base, { trained: false, bases }),
    ];
    bases.release();
    const adapterBytes = gpu.pool.liveBytes - alone;
    const kept = models.flatMap(({ adapter }) =>
      adapter ? [adapter.parameters.weights, adapter.parameters.gradients ?? []] : []
    ).flat();
    assert.equal(kept.length, 2 * 2);
    const expected = kept.reduce((sum, { storage }) => sum + storage.bytes, 0);
    assert.equal(adapterBytes, expected, "only adapters and their gradients are added");
    for (const model of models) {
      assert.equal(model.parameters, whole.parameters);
    }
    const sequence = Uint32Array.from({ length: 20 }, (_, i) => (i * 7) % 131);
    const saidBy = async (model: Model) => {
      const made = gpu.scope(
        () => headLogits(model, forwardForTraining(model, packSequences(gpu, [sequence])).hidden),
        (x) => [x],
      );
      const data = await gpu.readFloats(made);
      gpu.release(made);
      return data;
    };
    const untouched = await saidBy(whole);
    for (const model of models) assert.deepEqual(await saidBy(model), untouched);
    const [a, b] = await Promise.all(
      models.slice(0, 2).map((model) => model.adapter?.parameters.read()),
    );
    assert.notDeepEqual(a, b, "each seed has its own adapter");
    whole.release();
    for (const model of models) model.release();
  },
);

onEveryGpu(
  "lora: sampled and trained log-probs are equal bit for bit; only the adapter moves",
  async (gpu) => {
    const model = await loadModel(gpu, adapterFolder("llama"), { trained: true });
    const trainer = tinyTrainer(model, { microBatchTokens: 32 });
    const requests = [3, 9, 5].map((length, r) => ({
      prompt: Uint32Array.from({ length }, (_, i) => (i * 31 + r) % 131),
      sequenceIds: [2 * r, 2 * r + 1],
    }));
    const base = await model.parameters.read();
    const before = await model.adapter?.parameters.read();
    const responses = await generate(model, requests, {
      temperature: 1,
      topK: 0,
      topP: 1,
      minP: 0,
      seed: 3,
      stream: 2,
      step: 1,
      stopTokens: [],
      maximumResponse: 12,
      slots: 3,
      stepsBetweenReadbacks: 4,
    });
    const samples = responses.flatMap((group, r) =>
      group.map(({ tokens, logProbs }, i) => ({
        prompt: requests[r].prompt,
        response: tokens,
        oldLogProbs: logProbs,
        advantages: new Float32Array(tokens.length).fill(i === 0 ? 1 : -1),
      }))
    );
    const metrics = await updatePolicy(
      trainer,
      null,
      samples,
      lossOptions(),
      adamwNumbers(1e-3),
    );
    assert.equal(metrics.logProbDifferenceMax, 0);
    assert.deepEqual(await model.parameters.read(), base);
    assert.notDeepEqual(await model.adapter?.parameters.read(), before);
    trainer.release();
    model.release();
  },
);

onEveryGpu(
  "lora: merged into its base, a model says what it said with the adapter",
  async (gpu) => {
    for (const name of names) {
      const reference = readTensors(join(adapterFolder(name), "reference.safetensors"));
      const model = await loadModel(gpu, adapterFolder(name), { trained: true });
      mergeAdapter(model);
      const folder = Deno.makeTempDirSync();
      try {
        const tokenizer = Tokenizer.fromJson(
          { ...characterTokenizer() },
          { ...characterTokenizerConfig() },
          "tokenizer.json",
        );
        await writeFiles(folder, wholeModelFiles({ model, tokenizer, stopTokens: [2] }), "");
        const merged = await loadModel(gpu, folder, { trained: false });
        const logits = await logitsOf(gpu, merged, reference);
        const expected = reference.logits.data as Float32Array;
        const [error] = reference["float32_error.logits"].data as Float32Array;
        const difference = largestDifference(logits, expected);
        // The merged weights are rounded once more.
        assert.ok(difference <= 16 * error, `${name}: ${difference} of at most ${16 * error}`);
        merged.release();
      } finally {
        Deno.removeSync(folder, { recursive: true });
      }
      model.release();
    }
  },
);

onEveryGpu(
  "lora: an adapter saved is the adapter read, and other shapes are refused",
  async (gpu) => {
    const model = await loadModel(gpu, adapterFolder("qwen2"), { trained: false });
    const tokenizer = Tokenizer.fromJson(
      { ...characterTokenizer() },
      { ...characterTokenizerConfig() },
      "tokenizer.json",
    );
    const original = readTensors(join(adapterFolder("qwen2"), "adapter_model.safetensors"));
    const folder = Deno.makeTempDirSync();
    try {
      await writeFiles(folder, modelFiles({ model, tokenizer, stopTokens: [2] }), "");
      const saved = readTensors(join(folder, "adapter_model.safetensors"));
      assert.deepEqual(Object.keys(saved).sort(), Object.keys(original).sort());
      for (const [name, { shape, data }] of Object.entries(original)) {
        assert.deepEqual([saved[name].shape, saved[name].data], [shape, data], name);
      }
      const { lora, basePath } = parsePeftConfig(
        JSON.parse(Deno.readTextFileSync(join(folder, "adapter_config.json"))),
        "saved",
      );
      assert.deepEqual(lora, model.adapter?.config);
      assert.equal(basePath, Deno.realPathSync(fixtureFolder("qwen2")));
    } finally {
      Deno.removeSync(folder, { recursive: true });
    }
    model.release();
    await assert.rejects(
      loadModel(gpu, adapterFolder("qwen2"), {
        trained: true,
        lora: { rank: 16, alpha: 16, targets: ["q_proj"] },
      }),
      { name: "UserError", message: /holds an adapter of another shape/ },
    );
  },
);

Deno.test("lora: adapter configurations that cannot be used are refused by key", () => {
  const good = {
    peft_type: "LORA",
    r: 8,
    lora_alpha: 16,
    target_modules: ["v_proj", "q_proj"],
    base_model_name_or_path: "base",
  };
  assert.deepEqual(parsePeftConfig(good, "f").lora.targets, ["q_proj", "v_proj"]);
  const fused = { ...good, target_modules: ["gate_up_proj", "qkv_proj", "o_proj"] };
  assert.deepEqual(parsePeftConfig(fused, "f").lora.targets, [
    "o_proj",
    "qkv_proj",
    "gate_up_proj",
  ]);
  for (
    const [change, message] of [
      [{ peft_type: "IA3" }, /peft_type is "IA3"/],
      [{ r: 6 }, /r is 6; .* multiple of 4/],
      [{ lora_alpha: 0 }, /lora_alpha is 0/],
      [{ target_modules: ["q_proj", "lm_head"] }, /target_modules is .*lm_head/],
      [{ target_modules: "all-linear" }, /target_modules is "all-linear"/],
      [{ use_dora: true }, /use_dora is true; supported: false/],
      [{ rank_pattern: { q_proj: 4 } }, /rank_pattern is not empty/],
      [{ base_model_name_or_path: null }, /base_model_name_or_path is missing/],
    ] as const
  ) {
    assert.throws(() => parsePeftConfig({ ...good, ...change }, "adapter_config.json"), {
      name: "UserError",
      message,
    });
  }
});

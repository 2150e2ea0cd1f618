/** Adapters that clients train over Tinker's API, beside the engine's own trainer. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { Adapters } from "../../../src/engine/adapters.ts";
import type { Loss } from "../../../src/engine/training/losses.ts";
import { Gpu } from "../../../src/gpu/gpu.ts";
import { loraTargets } from "../../../src/model/decoder/lora.ts";
import { loadModel } from "../../../src/model/weights/model_folder.ts";
import { TINY, withModels } from "../openai/with_models.ts";
import { Refused } from "../../../src/client/address.ts";
import type { TrainedModel } from "../../../src/client/trained_model.ts";
import { TrainingSession } from "../../../src/client/training_session.ts";
import { type Datum, encodeLoss } from "../../../src/client/wire.ts";

const STEP = { learningRate: 1e-2, epsilon: 1e-8, maximumGradientNorm: 1 };

const DATA: readonly Datum[] = [
  { tokens: [1, 5, 9, 20], targets: [5, 9, 20, 31], arrays: { weights: [0, 1, 1, 0.5] } },
  { tokens: [2, 7], targets: [7, 2], arrays: { weights: [1, -0.25] } },
];

const RL: readonly Datum[] = DATA.map(({ tokens, targets }) => ({
  ...{ tokens, targets },
  arrays: {
    logprobs: Array.from(tokens, (_, i) => i === 0 ? 0 : -3 - 0.3 * i),
    advantages: Array.from(tokens, (_, i) => i === 0 ? 0 : i % 2 === 0 ? -0.7 : 1.5),
  },
}));

const saved = (root: string, address: string) => {
  const [, session, number, kind, name] =
    /^tinker:\/\/([\w-]+):train:(\d+)\/(\w+)\/(.+)$/.exec(address) ?? assert.fail(address);
  return join(root, "checkpoints", session, `train-${number}`, kind, name);
};
const adapterBytes = (root: string, address: string) =>
  Deno.readFileSync(join(saved(root, address), "adapter_model.safetensors"));

/** Steps that leave weights and moments which no short cut gives. */
async function train(model: TrainedModel, steps: number, data = DATA): Promise<void> {
  for (let step = 0; step < steps; step++) {
    await model.forwardBackward(data, "cross_entropy");
    await model.optimStep(STEP);
  }
}

Deno.test("training over HTTP: log-probs, loss, gradient norm and update have the bits of the engine's own", async () => {
  const terms = { kl: null, entropyCoefficient: 0 };
  const clip = { clipRatioLow: 1 - 0.8, clipRatioHigh: 1.2 - 1 };
  const losses: readonly (readonly [Loss, readonly Datum[]])[] = [
    [{ name: "cross_entropy" }, DATA],
    [{ name: "importance_sampling", ...terms }, RL],
    [{ name: "ppo", ...terms, ...clip }, RL],
    [{ name: "cispo", ...terms, ...clip }, RL],
    [{ name: "gspo", ...terms, ...clip }, RL],
  ];
  const gpu = await Gpu.open();
  const base = await loadModel(gpu, TINY, { trained: false });
  const adapters = new Adapters(base, TINY);
  await withModels(async ({ url }) => {
    await using client = await TrainingSession.begin({ url });
    for (const [loss, data] of losses) {
      const options = {
        ...{ microBatchTokens: 512, sharePrompts: true, gradientCheckpointing: false, shards: 1 },
      };
      const config = { rank: 8, alpha: 32, targets: loraTargets };
      const { trainer } = adapters.create(loss.name, { config, seed: 3, trainer: options });
      const sequences = data.map(({ tokens, targets, arrays = {} }) => {
        // What a sequence's ratio is made of begins with the first token that has an advantage.
        const first = loss.name === "gspo" ? 1 : 0;
        const cut = (values: ArrayLike<number>) => Float32Array.from(values).subarray(first);
        const advantages = arrays.advantages ?? [];
        return {
          ...{ tokens: Uint32Array.from(tokens), first },
          targets: Uint32Array.from(targets).subarray(first),
          weights: cut(arrays.weights ?? Array.from(advantages, (one) => one === 0 ? 0 : 1)),
          ...{ oldLogProbs: cut(arrays.logprobs ?? []), advantages: cut(advantages) },
        };
      });
      const model = await client.createModel("tiny", { rank: 8, seed: 3 });
      const { loss: before } = await model.forward(data, loss.name);
      const found = await model.forwardBackward(data, loss.name);
      const wanted = await trainer.forwardBackward(sequences as never, loss);
      assert.equal(found.loss, wanted.loss, loss.name);
      // In float64 of the same log-probs, where the GPU computes ratios in float32.
      assert.ok(
        Math.abs(before - found.loss) < 1e-5 * Math.max(1, Math.abs(found.loss)),
        loss.name,
      );
      sequences.forEach(({ first }, s) =>
        assert.deepEqual(found.logProbs[s].subarray(first), wanted.outputs[s].logProbs, loss.name)
      );
      const stepped = await model.optimStep(STEP);
      const { gradientNorm } = await trainer.optimStep({
        ...{ learningRate: 1e-2, betas: [0.9, 0.95], epsilon: 1e-8, weightDecay: 0 },
        maxGradientNorm: 1,
      });
      assert.equal(stepped.gradientNorm, gradientNorm, loss.name);
      const after = await model.forward(data.map(({ tokens, targets }) => ({ tokens, targets })));
      const [own] = await trainer.forward(sequences);
      assert.deepEqual(after.logProbs[0].subarray(sequences[0].first), own.logProbs);
    }
  });
  adapters.release();
  base.release();
  gpu.close();
});

Deno.test("sampling over HTTP: log-probs have the bits that training computes, at any temperature, and a snapshot stays as it was", async () => {
  await withModels(async ({ url }) => {
    await using client = await TrainingSession.begin({ url });
    const model = await client.createModel("tiny", { rank: 8, seed: 3 });
    await train(model, 2);
    const sampler = await model.snapshot();
    const prompt = [1, 5, 9];
    const asked = { maximumTokens: 12, seed: 7, stop: [] };
    const three = { ...asked, count: 3, promptLogProbs: true };
    const sampled = [];
    for (const temperature of [1, 0.6, 0]) {
      const one = await sampler.sample(prompt, { ...three, temperature });
      const recomputed = await model.forward(one.responses.map(({ tokens }) => ({
        tokens: [...prompt, ...tokens.slice(0, -1)],
        targets: [...prompt.slice(1), ...tokens],
      })));
      one.responses.forEach(({ tokens, logProbs }, s) => {
        assert.equal(tokens.length, 12);
        assert.deepEqual(recomputed.logProbs[s].subarray(prompt.length - 1), logProbs);
        assert.deepEqual(
          recomputed.logProbs[s].subarray(0, prompt.length - 1),
          one.promptLogProbs?.subarray(1),
        );
      });
      sampled.push(one);
    }
    assert.notDeepEqual(sampled[0].responses[0].tokens, sampled[0].responses[1].tokens);
    await train(model, 2);
    const later = await sampler.sample(prompt, three);
    assert.deepEqual(later.responses, sampled[0].responses, "the snapshot is as it was");
    const now = await (await model.snapshot()).sample(prompt, three);
    assert.notDeepEqual(now.responses[0].logProbs, sampled[0].responses[0].logProbs);
    const base = await (await client.sampler({ base: "tiny" })).sample(prompt, asked);
    const untrained = await (await client.createModel("tiny", { rank: 8, seed: 3 })).snapshot();
    // A new adapter changes nothing.
    assert.deepEqual((await untrained.sample(prompt, asked)).responses, base.responses);
    const [{ tokens }] = sampled[0].responses;
    const stop = [tokens[3]];
    const [ended] = (await sampler.sample(prompt, { ...asked, stop })).responses;
    assert.deepEqual(ended.tokens, tokens.slice(0, tokens.indexOf(tokens[3]) + 1));
    assert.ok(ended.isFinished);
  });
});

Deno.test("saving over HTTP: what is loaded goes on with the same bits, and is an adapter that opens elsewhere", async () => {
  await withModels(async ({ url, root }) => {
    await using client = await TrainingSession.begin({ url });
    const model = await client.createModel("tiny", { rank: 8, seed: 3 });
    await train(model, 3);
    const address = await model.save("three");
    const { logProbs } = await model.forward(DATA);
    await train(model, 2);
    const wanted = adapterBytes(root, await model.saveForSampling("five"));
    // By another client, after this one is gone.
    await client.finish();
    await using another = await TrainingSession.begin({ url });
    const resumed = await another.loadModel(address, true);
    assert.deepEqual((await resumed.forward(DATA)).logProbs, logProbs);
    await train(resumed, 2);
    const found = await resumed.saveForSampling("five");
    assert.deepEqual(adapterBytes(root, found), wanted);
    // Without its moments it goes elsewhere.
    const anew = await another.loadModel(address, false);
    assert.deepEqual((await anew.forward(DATA)).logProbs, logProbs);
    await train(anew, 2);
    const other = adapterBytes(root, await anew.saveForSampling("five"));
    assert.notDeepEqual(other, wanted);
    // A model that is there is put back.
    await anew.load(address);
    assert.deepEqual((await anew.forward(DATA)).logProbs, logProbs);

    const gpu = await Gpu.open();
    const opened = await loadModel(gpu, saved(root, address), { trained: false });
    assert.equal(opened.adapter?.config.rank, 8);
    opened.release();
    gpu.close();

    const { training_runs } = await (await fetch(`${url}/api/v1/training_runs`)).json();
    assert.equal(training_runs.length, 3);
    const run = training_runs.find((one: { training_run_id: string }) =>
      one.training_run_id === model.id
    );
    assert.deepEqual([run.base_model, run.lora_rank], ["tiny", 8]);
    assert.equal(run.last_checkpoint.tinker_path, address);
    const removed = `${url}/api/v1/training_runs/${model.id}/checkpoints/weights/three`;
    assert.equal((await fetch(removed, { method: "DELETE" })).status, 200);
    await assert.rejects(another.loadModel(address, true), /never saved, or was removed/);
    await assert.rejects(model.forward(DATA), /session is over/);
  });
});

Deno.test("two clients at once: each adapter ends with the bytes that it has alone", async () => {
  const run = async (url: string, root: string, seed: number) => {
    await using client = await TrainingSession.begin({ url });
    const model = await client.createModel("tiny", { rank: 4 * seed, seed });
    const data = DATA.map((datum) => ({
      ...datum,
      tokens: Array.from(datum.tokens, (id) => id + seed),
    }));
    for (let step = 0; step < 4; step++) {
      const sampled = (await model.snapshot()).sample([1, seed], { maximumTokens: 6, seed: step });
      await train(model, 1, data);
      await sampled;
    }
    const bytes = adapterBytes(root, await model.saveForSampling("end"));
    await client.finish();
    return bytes;
  };
  await withModels(async ({ url, root }) => {
    const alone = [await run(url, root, 1), await run(url, root, 2)];
    const together = await Promise.all([run(url, root, 1), run(url, root, 2)]);
    assert.deepEqual(together, alone);
  });
});

Deno.test("order over HTTP: requests are done by number, a repeated one once, and a refused one holds up nobody", async () => {
  await withModels(async ({ url }) => {
    await using client = await TrainingSession.begin({ url });
    const model = await client.createModel("tiny", { rank: 8, seed: 3 });
    const twin = await client.createModel("tiny", { rank: 8, seed: 3 });
    await train(twin, 1);
    const { logProbs } = await twin.forward(DATA);
    // The step comes before its gradient, and the gradient three times.
    const [one, two] = [model.nextNumber(), model.nextNumber()];
    const step = {
      model_id: model.id,
      seq_id: two,
      adam_params: { learning_rate: 1e-2, eps: 1e-8, grad_clip_norm: 1 },
    };
    const { request_id } = await client.post("optim_step", step);
    const asked = { modelId: model.id, number: one, data: DATA, loss: "cross_entropy" };
    const body = encodeLoss({ ...asked, forwardOnly: false });
    const send = () => client.postLoss(body);
    const ids = [await send(), await send(), await send()];
    assert.equal(new Set(ids).size, 1);
    for (const id of [String(request_id), ids[0], ids[0]]) await client.result(id);
    assert.deepEqual((await model.forward(DATA)).logProbs, logProbs);
    await assert.rejects(
      client.postLoss(encodeLoss({ ...asked, forwardOnly: true })),
      (error: Refused) => error.status === 409,
    );
    const far = [{ tokens: [1, 9999], targets: [1, 2] }];
    const short = [{ tokens: [1, 2], targets: [1] }];
    const long = [{ tokens: Array(600).fill(1), targets: Array(600).fill(1) }];
    for (
      const [asked, wrong] of [
        [
          () => model.forwardBackward(DATA, "dro" as never),
          /"dro" is not built; there are cross_entropy, /,
        ],
        [() => model.forwardBackward(DATA, "ppo"), /ppo has no "weights"/],
        [
          () => model.forwardBackward([{ tokens: [1], targets: [2] }], "ppo"),
          /ppo needs advantages/,
        ],
        [() => model.forwardBackward(far, "cross_entropy"), /token 9999/],
        [() => model.forwardBackward(short, "cross_entropy"), /1 elements and the input 2 tokens/],
        [() => model.forwardBackward(long, "cross_entropy"), /600 tokens.*--micro-batch-tokens/],
        [
          () => model.forwardBackward(RL, "ppo", { clip: 1 }),
          /ppo has no "clip"; it takes clip_low/,
        ],
        [() => model.optimStep({ beta1: 2 }), /betas are from 0/],
        [() => model.save("../../out"), /is no name/],
        [() => model.saveForSampling("a.tmp"), /is no name/],
      ] as const
    ) await assert.rejects(asked(), wrong);
    assert.deepEqual((await model.forward(DATA)).logProbs, logProbs);
    await model.save("one");
    await assert.rejects(model.save("one"), /there already/);
    const loud = DATA.map(({ tokens, targets }) => ({
      ...{ tokens, targets, arrays: { weights: Array.from(tokens, () => Infinity) } },
    }));
    await model.forwardBackward(loud, "cross_entropy");
    await assert.rejects(model.optimStep(STEP), /not finite, so nothing was updated/);
    assert.deepEqual((await model.forward(DATA)).logProbs, logProbs);
  });
});

Deno.test("limits over HTTP: an adapter that does not fit is refused, and a session that ends returns its memory", async () => {
  await withModels(
    async ({ url, served }) => {
      await using client = await TrainingSession.begin({ url });
      await assert.rejects(client.createModel("nosuch"), /no model "nosuch"/);
      await assert.rejects(client.createModel("tiny", { rank: 6 }), /a multiple of 4/);
      const fitting = async () => {
        for (let count = 0;; count++) {
          try {
            await client.createModel("tiny", { rank: 64 });
          } catch (error) {
            assert.match((error as Error).message, /of GPU memory; 60.0 MB may be taken/);
            return count;
          }
        }
      };
      assert.ok(await fitting() > 1);
      const { process } = { process: served.find("tiny").model.pid };
      await client.finish();
      await assert.rejects(client.createModel("tiny", { rank: 8, seed: 3 }), /session .* is over/);
      await using next = await TrainingSession.begin({ url });
      await train(await next.createModel("tiny", { rank: 64 }), 1);
      assert.equal(served.find("tiny").model.pid, process);
      for (const path of ["forward_backward", "forward"]) {
        await assert.rejects(next.post(path, { model_id: "x" }), /pip install tinker==0.38.0/);
      }
      await assert.rejects(next.post("retrieve_future", { request_id: "x" }), /unknown/);
      await assert.rejects(next.sampler({ path: "tinker://a/../b" }), /no saved model/);
      await assert.rejects(
        next.sampler({ path: "tinker://a:train:0/weights/b" }),
        /never saved/,
      );
    },
    undefined,
    { memoryLimit: 0.06 },
  );
});

/** Bad requests, listeners that interfere, and ends at awkward moments: each response ends once, and no other minds. */

import assert from "node:assert/strict";
import type { Response, SampledTokens } from "../../../src/engine/sampling/request.ts";
import { rollout } from "../../../src/engine/sampling/rollout.ts";
import type { Sampler } from "../../../src/engine/sampling/sampler.ts";
import { oneReducer as oneProcess } from "../../../src/engine/training/reducer.ts";
import { Optimizer } from "../../../src/model/decoder/optimizer.ts";
import { onEveryGpu } from "../../kernels/harness.ts";
import { adamwNumbers, tinyModel } from "../../model/tiny_model.ts";
import {
  alone,
  ask,
  content,
  finish,
  lettersOf,
  plain,
  tokensOf,
  type Wanted,
  withSampler,
} from "./wanted.ts";

const options = { slots: 4, stepsBetweenReadbacks: 4 };
const prompt = tokensOf(5, 1);

/** What a listener hears, in order: counts of tokens, and the end's reason. */
function hear(sampler: Sampler, wanted: Wanted, onEnd = () => {}): (number | string)[] {
  const heard: (number | string)[] = [];
  sampler.add({
    ...wanted,
    listener: {
      tokens: ({ tokens }: SampledTokens) => heard.push(tokens.length),
      end: ({ tokens, end }: Response) => {
        heard.push(`${end.reason} after ${tokens.length}`);
        onEnd();
      },
    },
  });
  return heard;
}

onEveryGpu(
  "sampler: numbers that the GPU would take for others are refused at once",
  async (gpu) => {
    const model = tinyModel(gpu, { trained: false });
    try {
      await withSampler(model, options, async (sampler) => {
        const bad: [Partial<Wanted>, RegExp][] = [
          [{ seed: -1 }, /seed: found -1, expected a whole number from 0 to 9007199254740991/],
          [{ seed: 1.5 }, /seed: found 1\.5/],
          [{ seed: 2 ** 53 }, /seed: found 9007199254740992/],
          [{ stream: 1.5 }, /stream: found 1\.5, expected a whole number from 0 to 4294967295/],
          [{ step: -1 }, /step: found -1/],
          [{ sequenceId: 2 ** 32 }, /sequenceId: found 4294967296/],
          [{ stopTokens: [3, 5.5] }, /stop token: found 5\.5/],
          [{ stopTokens: [-1] }, /stop token: found -1/],
        ];
        for (const [wanted, message] of bad) {
          assert.throws(() => ask(sampler, { ...plain, prompt, ...wanted }), {
            name: "UserError",
            message,
          });
        }
        // The largest that it tells apart are served.
        const largest = { seed: 2 ** 53 - 1, sequenceId: 2 ** 32 - 1, stopTokens: [2 ** 32 - 1] };
        const { response } = ask(sampler, { ...plain, prompt, ...largest });
        await finish(sampler);
        assert.equal((await response).tokens.length, 20);
      });
    } finally {
      model.release();
    }
  },
);

onEveryGpu("sampler: a tokenizer that fails ends its own response alone", async (gpu) => {
  const model = tinyModel(gpu, { trained: false });
  try {
    const [first, second] = await alone(
      model,
      [1, 2].map((sequenceId) => ({
        ...plain,
        prompt,
        sequenceId,
      })),
    );
    const poison = first.tokens[9];
    const decode = (ids: ArrayLike<number>) => {
      if (Array.from(ids).includes(poison)) throw new Error("no such letter");
      return lettersOf(ids);
    };
    await withSampler(model, { ...options, tokenizer: { decode } }, async (sampler) => {
      const stopStrings = ["never"];
      const failing = ask(sampler, { ...plain, prompt, sequenceId: 1, stopStrings });
      const beside = ask(sampler, { ...plain, prompt, sequenceId: 2 });
      await assert.rejects(finish(sampler), { message: "no such letter" });
      await finish(sampler);
      const { tokens, end } = await failing.response;
      assert.equal(end.reason, "aborted");
      assert.deepEqual(tokens, first.tokens.slice(0, 1 + first.tokens.indexOf(poison)));
      assert.deepEqual(content(await beside.response), content(second));
    });
  } finally {
    model.release();
  }
});

onEveryGpu("sampler: nothing is told after the end, whoever ends whom", async (gpu) => {
  const model = tinyModel(gpu, { trained: false });
  try {
    await withSampler(model, options, async (sampler) => {
      const wanted = (sequenceId: number, maximumResponse: number) => ({
        ...plain,
        prompt,
        sequenceId,
        maximumResponse,
      });
      let victim = NaN;
      const first = hear(sampler, wanted(0, 6), () => sampler.abort(victim));
      const heard: (number | string)[] = [];
      victim = sampler.add({
        ...wanted(1, 20),
        listener: {
          tokens: ({ tokens }) => heard.push(tokens.length),
          end: ({ tokens, end }) => heard.push(`${end.reason} after ${tokens.length}`),
        },
      });
      await finish(sampler);
      // The first token is told as soon as it is there.
      assert.deepEqual(first, [1, 4, 1, "length after 6"]);
      assert.deepEqual(heard, [1, 4, 4, "aborted after 9"]);
    });
  } finally {
    model.release();
  }
});

onEveryGpu(
  "sampler: closed in the midst of a step, it ends all and returns its memory",
  async (gpu) => {
    const model = tinyModel(gpu, { trained: false });
    const before = gpu.pool.liveBytes;
    try {
      await withSampler(model, { ...options, slots: 1 }, async (sampler) => {
        const active = hear(sampler, { ...plain, prompt });
        const waiting = Array.from(
          { length: 20 },
          (_, i) => hear(sampler, { ...plain, prompt, sequenceId: i + 1 }),
        );
        await sampler.step();
        const stepping = sampler.step();
        sampler.close();
        assert.deepEqual(active, [1, "aborted after 1"]);
        for (const heard of waiting.slice(-4)) {
          assert.deepEqual(heard, ["aborted after 0"]);
        }
        assert.equal(await stepping, false);
        assert.deepEqual(active, [1, "aborted after 1"]);
        assert.equal(gpu.pool.liveBytes, before);
      });
      // A rollout whose responses are lost does not wait for them.
      const lost = { add: () => 1, abort() {}, step: () => Promise.resolve(false) };
      const { prompt: _, sequenceId: __, ...common } = { ...plain, prompt };
      await assert.rejects(
        rollout(lost as unknown as Sampler, [{ prompt, sequenceIds: [1, 2] }], common),
        /lost 2 responses/,
      );
    } finally {
      model.release();
    }
  },
);

onEveryGpu(
  "sampler: weights that change while a prompt is read are those that it is read with",
  async (gpu) => {
    const model = tinyModel(gpu);
    const optimizer = new Optimizer(model, oneProcess);
    const { readAll } = gpu;
    try {
      const wanted = { ...plain, prompt: tokensOf(40, 2), promptLogProbs: true };
      const found = await withSampler(model, options, async (sampler) => {
        const { response } = ask(sampler, wanted);
        for (const gradient of optimizer.gradients) {
          gpu.write(gradient, new Float32Array(gradient.size).fill(1));
        }
        gpu.readAll = async (tensors) => {
          gpu.readAll = readAll;
          const read = await gpu.readAll(tensors);
          await optimizer.update(adamwNumbers(0.05));
          return read;
        };
        await finish(sampler);
        return await response;
      });
      const [expected] = await alone(model, [wanted]);
      assert.deepEqual(content(found), content(expected));
      assert.deepEqual(found.prompt, expected.prompt);
    } finally {
      gpu.readAll = readAll;
      optimizer.release();
      model.release();
    }
  },
);

onEveryGpu("sampler: where the device binds too few keys for all, requests wait", async (gpu) => {
  // A page of this model has 2 KiB of keys: 32 of them, with room for 1024 tokens.
  const model = tinyModel(gpu.rehearsal({ maxStorageBufferBindingSize: 2 ** 16 }), {
    trained: false,
    config: { maxPositions: 2048 },
  });
  const ends: number[] = [];
  await withSampler(model, { slots: 64, stepsBetweenReadbacks: 16 }, async (sampler) => {
    const wanted = { ...plain, prompt: tokensOf(8, 1), maximumResponse: 300 };
    for (let sequenceId = 0; sequenceId < 12; sequenceId++) {
      const listener = { end: ({ tokens }: Response) => ends.push(tokens.length) };
      sampler.add({ ...wanted, sequenceId, listener });
    }
    assert.throws(() => ask(sampler, { ...wanted, maximumResponse: 1017 }), {
      name: "UserError",
      message: /8 tokens .* 1017 exceed the cache's 1024 tokens/,
    });
    await finish(sampler);
  });
  assert.deepEqual(ends, new Array(12).fill(300));
});

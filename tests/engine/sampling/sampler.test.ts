import assert from "node:assert/strict";
import type { Response } from "../../../src/engine/sampling/request.ts";
import { oneReducer as oneProcess } from "../../../src/engine/training/reducer.ts";
import { Optimizer } from "../../../src/model/decoder/optimizer.ts";
import { onEveryGpu } from "../../kernels/harness.ts";
import { adamwNumbers, tinyModel, tinyTrainer } from "../../model/tiny_model.ts";
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

onEveryGpu("sampler: what the cache has is not computed again", async (gpu) => {
  const model = tinyModel(gpu, { trained: false });
  try {
    const prompt = tokensOf(75, 7);
    await withSampler(model, { slots: 4, stepsBetweenReadbacks: 8, pages: 16 }, async (sampler) => {
      const one = async (wanted: Partial<Wanted> = {}) => {
        const { response } = ask(sampler, { ...plain, prompt, ...wanted });
        await finish(sampler);
        return await response;
      };
      const first = await one();
      assert.equal(first.cachedTokens, 0);
      // All but the last token, which is decoded: two whole pages and the beginning of a third.
      const again = await one();
      assert.equal(again.cachedTokens, 74);
      assert.deepEqual(content(again), content(first));
      // The next turn of a conversation finds the response as well, but for its last token.
      const turn = Uint32Array.from([...prompt, ...first.tokens, ...tokensOf(9, 8)]);
      const next = await one({ prompt: turn });
      assert.equal(next.cachedTokens, 75 + 19);
      const [expected] = await alone(model, [{ ...plain, prompt: turn }]);
      assert.deepEqual(content(next), content(expected));
      // Memory given back is taken again, empty.
      sampler.release();
      assert.equal((await one()).cachedTokens, 0);
    });
  } finally {
    model.release();
  }
});

onEveryGpu("sampler: an update of the weights empties the cache", async (gpu) => {
  const model = tinyModel(gpu);
  const optimizer = new Optimizer(model, oneProcess);
  try {
    const wanted = { ...plain, prompt: tokensOf(70, 9) };
    await withSampler(model, { slots: 2, stepsBetweenReadbacks: 4, pages: 16 }, async (sampler) => {
      const before = ask(sampler, wanted);
      await finish(sampler);
      for (const gradient of model.trainable?.gradients ?? []) {
        gpu.write(gradient, new Float32Array(gradient.size).fill(1));
      }
      // Another is in the midst of being decoded.
      const during = ask(sampler, { ...wanted, prompt: tokensOf(70, 10), maximumResponse: 40 });
      await sampler.step();
      await optimizer.update(adamwNumbers(0.05));
      const after = ask(sampler, wanted);
      await finish(sampler);
      const [expected] = await alone(model, [wanted]);
      assert.deepEqual(content(await after.response), content(expected));
      assert.equal((await after.response).cachedTokens, 0);
      assert.notDeepEqual((await after.response).logProbs, (await before.response).logProbs);
      const { tokens, timesPutBack } = await during.response;
      assert.deepEqual([tokens.length, timesPutBack], [40, 1]);
    });
  } finally {
    optimizer.release();
    model.release();
  }
});

onEveryGpu("sampler: what cannot be had is refused at once", async (gpu) => {
  const model = tinyModel(gpu, { trained: false });
  try {
    await withSampler(model, { slots: 2, stepsBetweenReadbacks: 4, pages: 3 }, async (sampler) => {
      const refused = (wanted: Partial<Wanted>, message: RegExp) =>
        assert.throws(
          () => ask(sampler, { ...plain, prompt: tokensOf(50, 1), ...wanted }),
          { name: "UserError", message },
        );
      refused({ prompt: new Uint32Array() }, /prompt is empty/);
      refused({ prompt: Uint32Array.of(64) }, /token 64, .* vocabulary of 64/);
      refused({ maximumResponse: 0 }, /longest response is 0 tokens/);
      refused({ maximumResponse: 500 }, /50 tokens .* 500 .* 512 positions/);
      refused({ maximumResponse: 47 }, /50 tokens .* 47 exceed the cache's 96 tokens/);
      refused({ topP: 0 }, /topP: found 0/);
      // The largest that fits does.
      const { response } = ask(sampler, {
        ...plain,
        prompt: tokensOf(50, 1),
        maximumResponse: 46,
      });
      await finish(sampler);
      assert.equal((await response).tokens.length, 46);
    });
  } finally {
    model.release();
  }
});

onEveryGpu("sampler: a listener that throws spoils nothing for the others", async (gpu) => {
  const model = tinyModel(gpu, { trained: false });
  try {
    await withSampler(model, { slots: 4, stepsBetweenReadbacks: 4 }, async (sampler) => {
      const wanted = { ...plain, prompt: tokensOf(5, 1) };
      sampler.add({
        ...wanted,
        listener: {
          end: () => {
            throw new Error("the caller's own");
          },
        },
      });
      const { response } = ask(sampler, { ...wanted, sequenceId: 1 });
      await assert.rejects(finish(sampler), /the caller's own/);
      await finish(sampler);
      const [expected] = await alone(model, [{ ...wanted, sequenceId: 1 }]);
      assert.deepEqual(content(await response), content(expected));
    });
    // Whoever closes it ends what is left.
    const closed = await withSampler(
      model,
      { slots: 4, stepsBetweenReadbacks: 4 },
      async (sampler) => {
        const { response } = ask(sampler, { ...plain, prompt: tokensOf(5, 1) });
        await sampler.step();
        return { response };
      },
    );
    const { tokens, end } = await closed.response;
    assert.deepEqual([tokens.length, end.reason], [4, "aborted"]);
  } finally {
    model.release();
  }
});

onEveryGpu("sampler: log-probs and the likeliest tokens are the training pass's", async (gpu) => {
  const model = tinyModel(gpu);
  const trainer = tinyTrainer(model);
  try {
    const prompt = tokensOf(70, 12);
    const k = 5;
    const wanted = [
      { ...plain, prompt, temperature: 0.7, promptLikeliest: k, likeliest: k },
      { ...plain, prompt, sequenceId: 1, promptLogProbs: true },
      { ...plain, prompt: prompt.subarray(0, 1), sequenceId: 2, promptLikeliest: 2 },
      { ...plain, prompt: prompt.subarray(0, 50), sequenceId: 3, likeliest: 2 },
      { ...plain, prompt, sequenceId: 4, promptLikeliest: k, maximumResponse: 0 },
    ];
    const responses = await withSampler(
      model,
      { slots: 4, stepsBetweenReadbacks: 8, pages: 20 },
      async (sampler) => {
        // What the cache has of a prompt does not keep its log-probs from being told.
        const warm = ask(sampler, { ...plain, prompt: tokensOf(70, 12) });
        await finish(sampler);
        await warm.response;
        const asked = wanted.map((one) => ask(sampler, one).response);
        await finish(sampler);
        return await Promise.all(asked);
      },
    );
    const [first, second, third, fourth, read] = responses;
    assert.deepEqual(read.prompt, first.prompt);
    assert.deepEqual([read.tokens.length, read.end.reason], [0, "length"]);
    // The whole distribution at every place, from the training pass: each token as every target.
    const distributions = async (text: Uint32Array, from: number, temperature: number) => {
      const sequences = Array.from({ length: 64 }, (_, token) => ({
        tokens: text,
        targets: new Uint32Array(text.length - from).fill(token),
        first: from - 1,
      }));
      const outputs = await trainer.forward(sequences, temperature);
      return Array.from(
        { length: text.length - from },
        (_, place) => outputs.map(({ logProbs }) => logProbs[place]),
      );
    };
    const check = (
      likeliest: Response["likeliest"],
      row: number,
      expected: number[],
      count: number,
    ) => {
      assert.equal(likeliest?.k, count);
      const order = expected.map((_, token) => token)
        .sort((a, b) => expected[b] - expected[a] || a - b).slice(0, count);
      const at = row * count;
      assert.deepEqual([...likeliest?.tokens.slice(at, at + count) ?? []], order);
      assert.deepEqual(
        [...likeliest?.logProbs.slice(at, at + count) ?? []],
        order.map((token) => expected[token]),
      );
    };
    const ofPrompt = await distributions(prompt, 1, 1);
    assert.ok(Number.isNaN(first.prompt?.logProbs[0]));
    ofPrompt.forEach((expected, i) => {
      assert.equal(first.prompt?.logProbs[i + 1], expected[prompt[i + 1]]);
      check(first.prompt?.likeliest ?? null, i + 1, expected, k);
    });
    assert.deepEqual(second.prompt?.logProbs, first.prompt?.logProbs);
    assert.equal(second.prompt?.likeliest, null);
    assert.deepEqual([...third.prompt?.likeliest?.tokens ?? []], [0, 0]);
    assert.deepEqual([third.prompt?.logProbs.length, third.likeliest], [1, null]);
    assert.equal(fourth.prompt, null);
    const text = (given: Uint32Array, { tokens }: Response) =>
      Uint32Array.from([...given, ...tokens]);
    const places = await distributions(text(prompt, first), prompt.length, 0.7);
    places.forEach((expected, i) => {
      assert.equal(first.logProbs[i], expected[first.tokens[i]]);
      check(first.likeliest, i, expected, k);
    });
    const last = await distributions(text(prompt.subarray(0, 50), fourth), 50, 1);
    last.forEach((expected, i) => check(fourth.likeliest, i, expected, 2));
    // Asking for them changes nothing else.
    const [bare] = await alone(model, [{ ...plain, prompt, temperature: 0.7 }]);
    assert.deepEqual(first.tokens, bare.tokens);
    assert.deepEqual(first.logProbs, bare.logProbs);
  } finally {
    trainer.release();
    model.release();
  }
});

onEveryGpu("sampler: stop strings end a response at the token that completes them", async (gpu) => {
  const model = tinyModel(gpu, { trained: false });
  try {
    const wanted = { ...plain, prompt: tokensOf(9, 13), maximumResponse: 40 };
    const [free] = await alone(model, [wanted]);
    const whole = lettersOf(free.tokens);
    const options = { slots: 4, stepsBetweenReadbacks: 8, tokenizer: { decode: lettersOf } };
    await withSampler(model, options, async (sampler) => {
      const strings = [whole.slice(21, 24), whole.slice(40, 44), "never"];
      const { response } = ask(sampler, { ...wanted, stopStrings: strings });
      const beside = ask(sampler, wanted);
      await finish(sampler);
      const { tokens, logProbs, end } = await response;
      const places = strings.map((string) => whole.indexOf(string) + string.length)
        .filter((_, i) => whole.includes(strings[i]));
      const length = Math.ceil(Math.min(...places) / 2);
      assert.equal(end.reason, "stop string");
      assert.deepEqual(tokens, free.tokens.slice(0, length));
      assert.deepEqual(logProbs, free.logProbs.slice(0, length));
      assert.deepEqual(content(await beside.response), content(free));
    });
    await withSampler(model, { slots: 4, stepsBetweenReadbacks: 8 }, (sampler) => {
      assert.throws(() => ask(sampler, { ...wanted, stopStrings: ["x"] }), /a tokenizer/);
      assert.throws(
        () => ask(sampler, { ...wanted, stopStrings: [""] }),
        { name: "UserError", message: /stop string is empty/ },
      );
      assert.throws(
        () => ask(sampler, { ...wanted, likeliest: 65 }),
        { name: "UserError", message: /likeliest: found 65, .* 0 to 64/ },
      );
      return Promise.resolve();
    });
  } finally {
    model.release();
  }
});

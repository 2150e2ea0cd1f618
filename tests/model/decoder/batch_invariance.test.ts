/**
 * The same sequence gives the same bits however it is computed: alone, packed, in any cut, prefilled and
 * decoded, with any number of slots. Differences here are compared with 0, not with a tolerance.
 */

import assert from "node:assert/strict";
import type { Gpu } from "../../../src/gpu/gpu.ts";
import { RandomStream } from "../../../src/random/philox.ts";
import { forwardOnly } from "../../../src/model/decoder/forward.ts";
import { headForward, headLogits } from "../../../src/model/decoder/head.ts";
import type { Model } from "../../../src/model/decoder/model.ts";
import { packSequences } from "../pack_sequences.ts";
import type { RolloutRequest, RolloutResponse } from "../../../src/engine/sampling/rollout.ts";
import { generate, type GenerateOptions } from "../../engine/sampling/generate.ts";
import { onEveryGpu } from "../../kernels/harness.ts";
import { fixtures, largestDifference, withFixture } from "../fixture.ts";
import { tinyModel } from "../tiny_model.ts";

const vocabulary = 131;

function randomTokens(count: number, seed: number): Uint32Array {
  const random = new RandomStream(seed, 98);
  return Uint32Array.from({ length: count }, () => random.integer(vocabulary));
}

/** The trainer's log-probs of each sequence's tokens from the second on, [length - 1] each. */
async function trainerLogProbs(
  model: Model,
  sequences: readonly Uint32Array[],
  inverseTemperature = 1,
): Promise<Float32Array[]> {
  const { gpu } = model;
  const logProbs = gpu.scope(() => {
    const batch = packSequences(gpu, sequences);
    const targets = sequences.flatMap((sequence) => [...sequence.subarray(1), 0]);
    const target = gpu.from(Uint32Array.from(targets), [batch.size], "u32", "targets");
    return headForward(model, forwardOnly(model, batch), target, inverseTemperature).logProbs;
  }, (kept) => [kept]);
  const all = await gpu.readFloats(logProbs);
  gpu.release(logProbs);
  let at = 0;
  return sequences.map(({ length }) => {
    const own = all.slice(at, at + length - 1);
    at += length;
    return own;
  });
}

const sampling: GenerateOptions = {
  temperature: 1,
  topK: 0,
  topP: 1,
  minP: 0,
  seed: 5,
  stream: 1,
  step: 3,
  stopTokens: [7, 50],
  maximumResponse: 24,
  slots: 16,
  stepsBetweenReadbacks: 7,
};

/** Prompts around the page size of 32: within a page, at its end, over one and two of them. */
const promptLengths = [1, 2, 31, 32, 33, 40, 64, 65, 70];

/** Groups of different sizes, of which some need more slots than the smallest test gives. */
const requests: readonly RolloutRequest[] = promptLengths.map((length, p) => ({
  prompt: randomTokens(length, 100 + p),
  sequenceIds: Array.from({ length: 1 + p % 5 }, (_, i) => 10 * p + i),
}));

const bySequence = (responses: readonly RolloutResponse[][]) =>
  responses.flat().sort((a, b) => a.sequenceId - b.sequenceId);

/** The prompt of every response, in the order of `bySequence`. */
const prompts = requests.flatMap(({ prompt, sequenceIds }) => sequenceIds.map(() => prompt));

function joined(prompt: Uint32Array, response: Uint32Array): Uint32Array {
  return Uint32Array.from([...prompt, ...response]);
}

function worst(a: readonly Float32Array[], b: readonly Float32Array[]): number {
  assert.equal(a.length, b.length);
  return Math.max(...a.map((one, i) => largestDifference(one, b[i])));
}

function assertExact(gpu: Gpu, what: string, difference: number): void {
  console.log(`${what} [${gpu.info.engine}]: largest log-prob difference ${difference}`);
  assert.equal(difference, 0);
}

for (const name of fixtures) {
  onEveryGpu(`batch invariance: ${name} alone, packed, in different cuts`, async (gpu) => {
    await withFixture(gpu, name, { trained: false }, async (model) => {
      const sequences = [2, 17, 32, 33, 64, 65, 100, 127, 5].map((n, i) => randomTokens(n, i));
      const alone: Float32Array[] = [];
      for (const sequence of sequences) alone.push(...await trainerLogProbs(model, [sequence]));
      const packed = await trainerLogProbs(model, sequences);
      const reversed = (await trainerLogProbs(model, sequences.toReversed())).reverse();
      const cut = [
        ...await trainerLogProbs(model, sequences.slice(0, 4)),
        ...await trainerLogProbs(model, sequences.slice(4, 5)),
        ...await trainerLogProbs(model, sequences.slice(5)),
      ];
      const difference = Math.max(
        worst(packed, alone),
        worst(reversed, alone),
        worst(cut, alone),
      );
      assertExact(gpu, `${name}, alone and packed`, difference);
      // A sequence does not see what comes after a token either.
      const [whole] = await trainerLogProbs(model, [sequences[6]]);
      const [start] = await trainerLogProbs(model, [sequences[6].subarray(0, 41)]);
      assertExact(gpu, `${name}, prefix`, largestDifference(whole.subarray(0, 40), start));
    });
  });

  onEveryGpu(`batch invariance: ${name} prefilled and decoded against the trainer`, async (gpu) => {
    await withFixture(gpu, name, { trained: false }, async (model) => {
      // The inverse of 0.9 is another number in f32, and times log2 e a third that differs from that of 64 bits.
      for (const temperature of [1, 0.9]) {
        const responses = bySequence(await generate(model, requests, { ...sampling, temperature }));
        const trained = await trainerLogProbs(
          model,
          responses.map(({ tokens }, i) => joined(prompts[i], tokens)),
          1 / temperature,
        );
        const own = trained.map((row, i) => row.subarray(prompts[i].length - 1));
        const rolled = responses.map(({ logProbs }) => logProbs);
        assertExact(gpu, `${name}, rollout and trainer, t ${temperature}`, worst(rolled, own));
        assert.ok(rolled.every((row) => row.every((logProb) => logProb < 0 && logProb > -30)));
      }
    });
  });

  onEveryGpu(`batch invariance: ${name} slots, windows, order and groups`, async (gpu) => {
    await withFixture(gpu, name, { trained: false }, async (model) => {
      const expected = bySequence(await generate(model, requests, sampling));
      const same = async (
        what: string,
        given: readonly RolloutRequest[],
        options: Partial<GenerateOptions>,
      ) => {
        const found = bySequence(await generate(model, given, { ...sampling, ...options }));
        assert.deepEqual(found, expected, what);
      };
      for (const slots of [3, 64]) await same(`${slots} slots`, requests, { slots });
      for (const stepsBetweenReadbacks of [1, 16]) {
        await same(`windows of ${stepsBetweenReadbacks}`, requests, { stepsBetweenReadbacks });
      }
      await same("reversed", requests.toReversed(), { slots: 5 });
      const individual = requests.flatMap(({ prompt, sequenceIds }) =>
        sequenceIds.map((id) => ({ prompt, sequenceIds: [id] }))
      );
      await same("each response by itself", individual, {});
    });
  });
}

onEveryGpu("batch invariance: a vocabulary in one chunk and in several", async (gpu) => {
  const model = tinyModel(gpu, {
    trained: false,
    config: { vocabularySize: 2603, hiddenSize: 16 },
  });
  try {
    const random = new RandomStream(3, 98);
    // 32 MiB hold the logits of 2,500 tokens two blocks of 1,024 columns at a time.
    const sequences = Array.from(
      { length: 20 },
      () => Uint32Array.from({ length: 125 }, () => random.integer(2603)),
    );
    const packed = await trainerLogProbs(model, sequences);
    const alone = await trainerLogProbs(model, sequences.slice(0, 1));
    assertExact(gpu, "vocabulary chunks", largestDifference(packed[0], alone[0]));
    const [responses] = await generate(
      model,
      [{ prompt: sequences[0].subarray(0, 40), sequenceIds: [0, 1] }],
      { ...sampling, stopTokens: [] },
    );
    const filled = sequences.slice(2);
    const trained = await trainerLogProbs(model, [
      ...responses.map(({ tokens }) => joined(sequences[0].subarray(0, 40), tokens)),
      ...filled,
    ]);
    const difference = worst(
      responses.map(({ logProbs }) => logProbs),
      trained.slice(0, 2).map((row) => row.subarray(39)),
    );
    assertExact(gpu, "vocabulary chunks, rollout and trainer", difference);
  } finally {
    model.release();
  }
});

onEveryGpu("rollout: stops at a stop token, at the longest length, and not before", async (gpu) => {
  await withFixture(gpu, "qwen3", { trained: false }, async (model) => {
    const free = bySequence(
      await generate(model, requests, { ...sampling, stopTokens: [] }),
    );
    assert.ok(free.every(({ tokens, finished }) => tokens.length === 24 && !finished));
    const stopped = bySequence(await generate(model, requests, sampling));
    stopped.forEach(({ tokens, logProbs, finished }, i) => {
      const stop = free[i].tokens.findIndex((token) => sampling.stopTokens.includes(token));
      const length = stop < 0 ? 24 : stop + 1;
      assert.deepEqual(tokens, free[i].tokens.slice(0, length));
      assert.deepEqual(logProbs, free[i].logProbs.slice(0, length));
      assert.equal(finished, stop >= 0);
    });
    const ended = stopped.filter(({ finished }) => finished).length;
    assert.ok(ended > 0 && ended < stopped.length, "the test must see both endings");
    const single = await generate(model, requests.slice(0, 2), { ...sampling, maximumResponse: 1 });
    assert.ok(single.flat().every(({ tokens }) => tokens.length === 1));
  });
});

onEveryGpu("rollout: another seed, stream, step or sequence draws other tokens", async (gpu) => {
  await withFixture(gpu, "llama", { trained: false }, async (model) => {
    const draw = async (options: Partial<GenerateOptions>, sequenceIds = [0, 1]) => {
      const settings = { ...sampling, stopTokens: [], ...options };
      const [responses] = await generate(
        model,
        [{ prompt: requests[3].prompt, sequenceIds }],
        settings,
      );
      return responses.map(({ tokens }) => tokens.join());
    };
    const drawn = [
      ...await draw({}),
      ...await draw({}, [2, 3]),
      ...await draw({ seed: 6 }),
      ...await draw({ stream: 2 }),
      ...await draw({ step: 4 }),
    ];
    assert.equal(new Set(drawn).size, drawn.length);
    assert.deepEqual(await draw({}, [1, 0]), drawn.slice(0, 2).reverse());
  });
});

/** The trainer's logits of a packed batch's tokens, [tokens][vocabulary]. */
async function trainerLogits(model: Model, sequence: Uint32Array): Promise<Float32Array[]> {
  const { gpu } = model;
  const stride = Math.ceil(vocabulary / 4) * 4;
  const logits = gpu.scope(() => {
    const hidden = forwardOnly(model, packSequences(gpu, [sequence]));
    return headLogits(model, hidden);
  }, (kept) => [kept]);
  const all = await gpu.readFloats(logits);
  gpu.release(logits);
  return Array.from(sequence, (_, t) => all.slice(t * stride, t * stride + vocabulary));
}

/** Places of the tokens at least as likely as `token`, it included. */
const rankOf = (logits: Float32Array, token: number) =>
  logits.filter((logit) => logit >= logits[token]).length;

function softmax(logits: Float32Array): number[] {
  const peak = Math.max(...logits);
  const masses = Array.from(logits, (logit) => Math.exp(logit - peak));
  const total = masses.reduce((a, b) => a + b, 0);
  return masses.map((mass) => mass / total);
}

onEveryGpu("rollout: greedy decoding takes the trainer's likeliest token", async (gpu) => {
  await withFixture(gpu, "qwen2", { trained: false }, async (model) => {
    const given = requests.filter((_, p) => [0, 3, 5].includes(p))
      .map(({ prompt }, i) => ({ prompt, sequenceIds: [i] }));
    const responses = await generate(model, given, { ...sampling, temperature: 0, stopTokens: [] });
    for (const [i, { prompt }] of given.entries()) {
      const [{ tokens }] = responses[i];
      const logits = await trainerLogits(model, joined(prompt, tokens));
      const likeliest = logits.map((row) => row.indexOf(Math.max(...row)));
      assert.deepEqual(
        Array.from(tokens),
        likeliest.slice(prompt.length - 1, prompt.length - 1 + tokens.length),
      );
    }
  });
});

onEveryGpu("rollout: top-k, top-p and min-p leave only the tokens they should", async (gpu) => {
  await withFixture(gpu, "llama", { trained: false }, async (model) => {
    const sequenceIds = Array.from({ length: 12 }, (_, i) => i);
    const prompt = requests[4].prompt;
    /** Checks every sampled token against the trainer's distribution at its place. */
    const check = async (
      options: Partial<GenerateOptions>,
      isAllowed: (logits: Float32Array, token: number) => boolean,
    ) => {
      const settings = { ...sampling, stopTokens: [], maximumResponse: 8, ...options };
      const [responses] = await generate(model, [{ prompt, sequenceIds }], settings);
      let outside = 0;
      for (const { tokens } of responses) {
        const logits = await trainerLogits(model, joined(prompt, tokens));
        tokens.forEach((token, i) => {
          if (!isAllowed(logits[prompt.length - 1 + i], token)) outside++;
        });
      }
      return outside;
    };
    const topK = (logits: Float32Array, token: number) => rankOf(logits, token) <= 3;
    const nucleus = (logits: Float32Array, token: number) => {
      const probabilities = softmax(logits);
      const likelier = probabilities.filter((p) => p > probabilities[token])
        .reduce((a, b) => a + b, 0);
      return likelier < 0.5;
    };
    const minP = (logits: Float32Array, token: number) =>
      Math.exp(logits[token] - Math.max(...logits)) >= 0.3;
    assert.equal(await check({ topK: 3 }, topK), 0);
    assert.equal(await check({ topP: 0.5 }, nucleus), 0);
    assert.equal(await check({ minP: 0.3 }, minP), 0);
    // Without the filters the same tokens do leave those sets, so the checks can fail.
    assert.ok(await check({}, topK) > 0);
    assert.ok(await check({}, nucleus) > 0);
    assert.ok(await check({}, minP) > 0);
    // Low temperatures take the likeliest token nearly always, high ones rarely.
    const likeliest = (logits: Float32Array, token: number) => rankOf(logits, token) === 1;
    assert.ok(await check({ temperature: 0.05 }, likeliest) < 96 * 0.2);
    assert.ok(await check({ temperature: 5 }, likeliest) > 96 * 0.8);
  });
});

onEveryGpu("rollout: a response that cannot fit the model's positions is refused", async (gpu) => {
  await withFixture(gpu, "llama", { trained: false }, async (model) => {
    const given = [{ prompt: randomTokens(100, 1), sequenceIds: [0] }];
    await assert.rejects(
      generate(model, given, { ...sampling, maximumResponse: 29 }),
      { name: "UserError", message: /100 tokens .* 29 .* 128 positions/ },
    );
    const [[{ tokens }]] = await generate(model, given, {
      ...sampling,
      stopTokens: [],
      maximumResponse: 28,
    });
    assert.equal(tokens.length, 28);
  });
});

import assert from "node:assert/strict";
import {
  messagesArrive,
  OpenRollout,
  type RolloutResponse,
} from "../../../src/engine/sampling/rollout.ts";
import { Sampler } from "../../../src/engine/sampling/sampler.ts";
import { onEveryGpu } from "../../kernels/harness.ts";
import { tinyModel } from "../../model/tiny_model.ts";
import { generate } from "./generate.ts";

const requests = [[5, 6, 7], [8, 9], [10, 11, 12, 13, 14], [15]].map((prompt, p) => ({
  prompt: Uint32Array.from(prompt),
  sequenceIds: [2 * p, 2 * p + 1],
}));
const sampling = { temperature: 1, topK: 0, topP: 1, minP: 0, seed: 4, stream: 1, step: 0 };
const options = { ...sampling, stopTokens: [3], maximumResponse: 12 };
const work = { slots: 3, stepsBetweenReadbacks: 4 };

onEveryGpu(
  "open rollout: requests that come one by one get the bits of a closed one",
  async (gpu) => {
    const model = tinyModel(gpu);
    const closed = (await generate(model, requests, { ...options, ...work })).flat();
    const sampler = new Sampler(model, work);
    const found: RolloutResponse[] = [];
    sampler.expect(8, 20);
    const open = new OpenRollout(sampler, options);
    for (const request of requests) {
      open.ask(request, (response) => found.push(response));
      // Others are decoded by then, or even done.
      for (let turn = 0; turn < 3; turn++) await messagesArrive();
    }
    await open.finished();
    found.sort((a, b) => a.sequenceId - b.sequenceId);
    assert.deepEqual(found, closed);
    sampler.close();
    model.release();
  },
);

onEveryGpu("open rollout: what cannot be sampled is said at the end", async (gpu) => {
  const model = tinyModel(gpu, { config: { maxPositions: 14 } });
  const sampler = new Sampler(model, work);
  const open = new OpenRollout(sampler, options);
  for (const request of requests) open.ask(request, () => {});
  await assert.rejects(open.finished(), {
    name: "UserError",
    message: /A prompt of 3 tokens and a response of up to 12 exceed the model's 14 positions/,
  });
  sampler.close();
  model.release();
});

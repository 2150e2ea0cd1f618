/** Requests of a test, and what they get. */

import type { Response, SampleRequest } from "../../../src/engine/sampling/request.ts";
import { Sampler, type SamplerOptions } from "../../../src/engine/sampling/sampler.ts";
import type { Model } from "../../../src/model/decoder/model.ts";
import { RandomStream } from "../../../src/random/philox.ts";

/** A request without whoever waits for it. */
export type Wanted = Omit<SampleRequest, "listener">;

/** A request for 20 tokens, to be changed. */
export const plain: Omit<Wanted, "prompt"> = {
  temperature: 1,
  topK: 0,
  topP: 1,
  minP: 0,
  seed: 3,
  stream: 1,
  step: 2,
  sequenceId: 0,
  maximumResponse: 20,
  stopTokens: [],
};

/** Random tokens of the tiny model. */
export const tokensOf = (length: number, seed: number) => {
  const random = new RandomStream(seed, 97);
  return Uint32Array.from({ length }, () => random.integer(64));
};

/** What a response is, whatever else was sampled. */
export const content = ({ tokens, logProbs, end }: Response) => ({ tokens, logProbs, end });

/** Adds a request; the promise is its response. */
export function ask(sampler: Sampler, wanted: Wanted): { id: number; response: Promise<Response> } {
  const { promise: response, resolve } = Promise.withResolvers<Response>();
  return { id: sampler.add({ ...wanted, listener: { end: resolve } }), response };
}

/** Steps until all has come. */
export async function finish(sampler: Sampler): Promise<void> {
  while (await sampler.step());
}

/** Does something with a sampler that is closed afterwards. */
export async function withSampler<Result>(
  model: Model,
  options: SamplerOptions,
  body: (sampler: Sampler) => Promise<Result>,
): Promise<Result> {
  const sampler = new Sampler(model, options);
  try {
    return await body(sampler);
  } finally {
    sampler.close();
  }
}

/** Each by itself in an empty cache. */
export async function alone(
  model: Model,
  wanted: readonly Wanted[],
  tokenizer?: SamplerOptions["tokenizer"],
): Promise<Response[]> {
  const options = { slots: 1, stepsBetweenReadbacks: 10, tokenizer };
  return await withSampler(model, options, async (sampler) => {
    const responses: Response[] = [];
    for (const one of wanted) {
      const { response } = ask(sampler, one);
      await finish(sampler);
      responses.push(await response);
      sampler.release();
    }
    return responses;
  });
}

/** Two letters a token, so that most strings of three lie over two of them. */
export function lettersOf(ids: ArrayLike<number>): string {
  const letters = "abcdefgh";
  return Array.from(ids, (id) => letters[id >> 3] + letters[id & 7]).join("");
}

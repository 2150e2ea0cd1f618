import { plainDecoder, wholeHeads } from "../../src/model/decoder/config.ts";
import { initialise } from "../../src/model/decoder/initialise.ts";
import { Model } from "../../src/model/decoder/model.ts";
import type { RolloutOptions } from "../../src/engine/sampling/rollout.ts";
import { Sampler } from "../../src/engine/sampling/sampler.ts";
import type { Workbench } from "../benchmark.ts";
import type { Shape } from "../shapes.ts";

/**
 * A model of the shape's size with random weights, released with the bench.
 *
 * @throws Error when the shape names no model
 */
export function randomModel(
  bench: Workbench,
  { label, model: size }: Shape,
  options: { readonly maxPositions: number; readonly trained: boolean },
): Model {
  if (size === null) throw new Error(`shape ${label} names no model`);
  const { maxPositions, trained } = options;
  const { hidden, intermediate, vocabulary, ropeTheta, ...rest } = size;
  const model = Model.create(bench.gpu, {
    ...rest,
    architecture: "llama",
    kinds: wholeHeads(size.headDim, ropeTheta),
    hiddenSize: hidden,
    intermediateSize: intermediate,
    vocabularySize: vocabulary,
    ...plainDecoder,
    maxPositions,
  }, { trained });
  bench.onRelease(() => model.release());
  initialise(model, 1, 1 / Math.sqrt(hidden));
  return model;
}

/** A sampler that reads back as often as in training. */
export function benchSampler(bench: Workbench, model: Model, slots: number): Sampler {
  const sampler = new Sampler(model, { slots, stepsBetweenReadbacks: 16 });
  bench.onRelease(() => sampler.close());
  return sampler;
}

/** Temperature 1, nothing stops early. */
export function samplingOf(maximumResponse: number): RolloutOptions {
  return {
    temperature: 1,
    topK: 0,
    topP: 1,
    minP: 0,
    seed: 1,
    stream: 1,
    step: 0,
    stopTokens: [],
    maximumResponse,
  };
}

import { rollout } from "../../src/engine/sampling/rollout.ts";
import { Sampler } from "../../src/engine/sampling/sampler.ts";
import type { Gpu } from "../../src/gpu/gpu.ts";
import { loadModel } from "../../src/model/weights/model_folder.ts";
import { samplingOf } from "../end_to_end/random_model.ts";
import { randomTokens } from "./random_tokens.ts";

/** What the host does for the launches of decoding. */
export interface HostTime {
  readonly launches: number;
  /** Of JavaScript for each of them, the engine's own calls left out. */
  readonly microseconds: number;
}

const sequences = 16;
const tokens = 129;

/**
 * Samples a model on a GPU that computes nothing, so that recording the launches is all there is to do.
 *
 * @param path Hugging Face folder or .gguf file
 */
export async function measureHost(gpu: Gpu, path: string): Promise<HostTime> {
  const rehearsal = gpu.rehearsal();
  let launches = 0;
  // All of its passes are one object.
  const pass = rehearsal.device.createCommandEncoder().beginComputePass();
  const count = () => void launches++;
  const model = await loadModel(rehearsal, path, { trained: false });
  const sampler = new Sampler(model, { slots: sequences, stepsBetweenReadbacks: 16 });
  const requests = Array.from({ length: sequences }, (_, s) => ({
    prompt: randomTokens(s, 16, model.config.vocabularySize),
    sequenceIds: [s],
  }));
  const sample = () => rollout(sampler, requests, samplingOf(tokens));
  await sample();
  const { dispatchWorkgroups } = pass;
  Object.assign(pass, { dispatchWorkgroups: count });
  await sample();
  Object.assign(pass, { dispatchWorkgroups });
  let fastest = Infinity;
  for (let run = 0; run < 5; run++) {
    const start = performance.now();
    await sample();
    fastest = Math.min(fastest, performance.now() - start);
  }
  sampler.close();
  model.release();
  return { launches, microseconds: 1000 * fastest / launches };
}

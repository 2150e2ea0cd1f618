import { streams, uniformAt } from "../../random/philox.ts";
import type { Model } from "./model.ts";
import { deltaNames } from "./names.ts";
import type { Parameters } from "./parameters.ts";

/** Numbers of one tensor, which depend on the seed and the tensor's place alone. */
const uniforms = (seed: number, tensor: number) => (position: number) =>
  uniformAt({ seed, stream: streams.initialisation, step: tensor, sequence: 0, position });

function fill(
  parameters: Parameters,
  make: (name: string, shape: readonly number[], data: Float32Array, tensor: number) => void,
): void {
  let tensor = 0, elements = 0;
  let made: Record<string, Float32Array> = {};
  for (const [name, shape] of parameters.shapes()) {
    const data = made[name] = new Float32Array(shape.reduce((product, n) => product * n, 1));
    make(name, shape, data, tensor++);
    elements += data.length;
    if (elements < piece) continue;
    parameters.set(made);
    made = {};
    elements = 0;
  }
  parameters.set(made);
}

/** Elements that are written at a time, about: each writing goes through all tensors, and experts have many. */
const piece = 2 ** 22;

/**
 * Fresh weights: normal with standard deviation 0.02 (projections into the residual stream divided by
 * √(2·layers), as in GPT-2), norms that multiply by 1, biases 0; of a DeltaNet decays of all speeds, as transformers makes
 * them.
 */
export function initialise({ parameters, config }: Model, seed: number, deviation = 0.02): void {
  fill(parameters, (name, _shape, data, tensor) => {
    const at = uniforms(seed, tensor);
    if (name.endsWith(deltaNames.decayLogs)) {
      data.forEach((_, i) => data[i] = Math.log(0.01 + 15.99 * at(i)));
      return;
    }
    if (name.endsWith(deltaNames.stepBiases)) {
      data.fill(1);
      return;
    }
    if (name.endsWith("bias")) return;
    if (name.includes("norm")) {
      data.fill(config.norms.fromOne && !name.includes(deltaNames.norm) ? 0 : 1);
      return;
    }
    const residual = /\.(o_proj|down_proj|out_proj|w2)\./.test(name)
      ? Math.sqrt(2 * config.layers)
      : 1;
    for (let i = 0; i < data.length; i += 2) {
      const radius = Math.sqrt(-2 * Math.log(1 - at(i)));
      const angle = 2 * Math.PI * at(i + 1);
      data[i] = radius * Math.cos(angle) * deviation / residual;
      if (i + 1 < data.length) data[i + 1] = radius * Math.sin(angle) * deviation / residual;
    }
  });
}

/** A fresh adapter, as PEFT makes it: A uniform within 1/√in, B zero, so that at first it changes nothing. */
export function initialiseAdapter(parameters: Parameters, seed: number): void {
  fill(parameters, (name, [, width], data, tensor) => {
    if (!name.endsWith("lora_A.weight")) return;
    const at = uniforms(seed, tensor);
    const bound = 1 / Math.sqrt(width);
    for (let i = 0; i < data.length; i++) data[i] = (2 * at(i) - 1) * bound;
  });
}

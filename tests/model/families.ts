import { join } from "node:path";
import type { Gpu } from "../../src/gpu/gpu.ts";
import type { ModelConfig } from "../../src/model/decoder/config.ts";
import { Model } from "../../src/model/decoder/model.ts";
import type { ParameterOptions } from "../../src/model/decoder/parameters.ts";
import { parseModelConfig } from "../../src/model/weights/config/config_json.ts";
import { readTensors } from "./safetensors_tensors.ts";

const folder = join(import.meta.dirname ?? "", "..", "fixtures");

interface FamilyModels {
  readonly lengths: readonly number[];
  /** By name, such as `phi3-2`, its config.json. */
  readonly models: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

/** What tests/fixtures/dump_families.py wrote. */
export const families: FamilyModels = JSON.parse(
  Deno.readTextFileSync(join(folder, "families.json")),
);

/** What transformers computed, by the names that tests/fixtures/dump_families.py gives. */
export const familyNumbers = (() => {
  let tensors: ReturnType<typeof readTensors> | null = null;
  return (name: string): Float32Array => {
    tensors ??= readTensors(join(folder, "families.safetensors"));
    return tensors[name].data as Float32Array;
  };
})();

/** Models of families whose other ones are none that GGUF files have a place for, by name; transformers computed none. */
export const ggufModels: FamilyModels["models"] = {
  "qwen3_5-gguf": {
    ...families.models["qwen3_5-3"],
    num_hidden_layers: 3,
    layer_types: ["linear_attention", "full_attention", "linear_attention"],
  },
};

export const familyConfig = (name: string): ModelConfig =>
  parseModelConfig(families.models[name] ?? ggufModels[name], `${name}/config.json`);

/** [size] numbers of -1 to 1 as `uniform` of tests/fixtures/dump_families.py makes them. */
function uniform(size: number, seed: number): Float32Array<ArrayBuffer> {
  return Float32Array.from({ length: size }, (_, i) => {
    let x = (i + seed * 1_000_003) >>> 0;
    x = Math.imul(x ^ (x >>> 16), 0x7FEB352D) >>> 0;
    x = Math.imul(x ^ (x >>> 15), 0x846CA68B) >>> 0;
    x = (x ^ (x >>> 16)) >>> 0;
    return (x >>> 8) / 2 ** 23 - 1;
  });
}

/** The sequences of a model with V tokens. */
export function familySequences(vocabularySize: number): Uint32Array<ArrayBuffer>[] {
  return families.lengths.map((length, i) =>
    Uint32Array.from(
      uniform(length, 1000 + i),
      (x) => Math.min(vocabularySize - 1, Math.floor(Math.fround(x * 0.5 + 0.5) * vocabularySize)),
    )
  );
}

/** A model with the weights that PyTorch's has; release it. */
export function familyModel(gpu: Gpu, name: string, options: ParameterOptions): Model {
  const model = Model.create(gpu, familyConfig(name), options);
  const shapes = [...model.parameters.shapes()].toSorted(([a], [b]) => a < b ? -1 : 1);
  model.parameters.set(
    Object.fromEntries(shapes.map(([tensor, shape], seed) => {
      const values = uniform(shape.reduce((product, n) => product * n, 1), seed);
      if (/\.(A_log|dt_bias|conv1d\.weight)$/.test(tensor)) return [tensor, values];
      // A DeltaNet's norm multiplies by its weight whatever the others do.
      const base = model.config.norms.fromOne && !tensor.includes(".linear_attn.") ? 0 : 1;
      if (tensor.endsWith("norm.weight")) return [tensor, values.map((x) => base + 0.25 * x)];
      const isHalved = tensor.endsWith("bias") || /embed_tokens|lm_head/.test(tensor);
      const scale = isHalved ? 0.5 : 2 ** (1 - Math.floor(Math.log2(shape[1]) / 2));
      return [tensor, values.map((x) => scale * x)];
    })),
  );
  return model;
}

/** Gives an adapter the numbers that tests/fixtures/dump_families.py gives its own. */
export function setFamilyAdapter({ adapter }: Model): void {
  if (!adapter) throw new Error("the model has no adapter");
  const shapes = adapter.parameters.shapes();
  const modules = [
    ...new Set([...shapes.keys()].map((name) => name.replace(/\.lora_[AB]\.weight$/, ""))),
  ];
  const named: Record<string, Float32Array> = {};
  modules.sort().forEach((module, seed) => {
    for (const [n, key] of ["A", "B"].entries()) {
      const name = `${module}.lora_${key}.weight`;
      const size = (shapes.get(name) ?? []).reduce((product, n) => product * n, 1);
      named[name] = uniform(size, 5000 + 2 * seed + n).map((x) => x / 4);
    }
  });
  adapter.parameters.set(named);
}

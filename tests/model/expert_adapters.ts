import { join } from "node:path";
import type { LoraTarget } from "../../src/model/decoder/lora.ts";
import { targetsOf } from "../../src/model/decoder/lora.ts";
import type { ModelConfig } from "../../src/model/decoder/config.ts";
import { readTensors } from "./safetensors_tensors.ts";

const folder = join(import.meta.dirname ?? "", "..", "fixtures");

/** The adapters that tests/fixtures/dump_expert_adapters.py makes, and the models that they are on. */
export const expertAdapters = {
  "qwen3moe-2": "qwen3moe-2",
  "olmoe-5": "olmoe-5",
  "lfm2moe-2": "lfm2moe-2",
  "qwen35moe-1": "qwen35moe-1",
  "olmoe-5-fused": "olmoe-5",
} as const;
export type ExpertAdapter = keyof typeof expertAdapters;
export const expertAdapterNames = Object.keys(expertAdapters) as ExpertAdapter[];

/** The folder in which PEFT saved one. */
export const expertAdapterFolder = (name: ExpertAdapter) => join(folder, "lora-experts", name);

/** What an adapter changes of its model: all projections, or of gate and up of experts what they have together. */
export function expertAdapterConfig(name: ExpertAdapter, config: ModelConfig) {
  const fused: readonly LoraTarget[] = ["q_proj", "experts.gate_up_proj", "experts.down_proj"];
  return { rank: 4, alpha: 6, targets: name === "olmoe-5-fused" ? fused : targetsOf(config) };
}

/** What PEFT computed, by the names that tests/fixtures/dump_expert_adapters.py gives. */
export const expertAdapterNumbers = (() => {
  let tensors: ReturnType<typeof readTensors> | null = null;
  return (name: string): Float32Array => {
    tensors ??= readTensors(join(folder, "expert_adapters.safetensors"));
    return tensors[name].data as Float32Array;
  };
})();

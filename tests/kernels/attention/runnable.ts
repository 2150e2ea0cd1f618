import type { Gpu } from "../../../src/gpu/gpu.ts";
import { broadcastLanes } from "../../../src/gpu/tuning.ts";
import type { DecodeSplit } from "../../../src/kernels/attention/attention_decode.ts";
import type { AttentionVariant } from "../../../src/kernels/attention/attention_shape.ts";

/** Heads for which broadcasts of four run beside those of eight: both of larger ones would compile for minutes. */
const largestOfBoth = 20;

/** The variants of attention that this device can run. */
export function runnableVariants(gpu: Gpu, headDim: number): readonly AttentionVariant[] {
  const lanes = broadcastLanes(gpu.tuning);
  if (!lanes) return ["tiled"];
  if (lanes === 4) return ["broadcast of 4", "tiled"];
  return headDim > largestOfBoth
    ? ["broadcast", "tiled"]
    : ["broadcast", "broadcast of 4", "tiled"];
}

/** The variants of decoding that this device can run. */
export function runnableSplits(gpu: Gpu, headDim: number): readonly DecodeSplit[] {
  const lanes = broadcastLanes(gpu.tuning);
  if (!lanes) return ["workgroup", "spans"];
  if (lanes === 4) return ["subgroup of 4", "workgroup", "spans"];
  return headDim > largestOfBoth
    ? ["subgroup", "workgroup", "spans"]
    : ["subgroup", "subgroup of 4", "workgroup", "spans"];
}

import type { Gpu } from "../../gpu/gpu.ts";
import type { WorkKind } from "../../gpu/recording/submit_pacing.ts";
import type { KernelRates } from "./gpu_description.ts";

/** Work of one kind. */
export interface Amount {
  /** Operations, a fused multiply-add counting as two. */
  readonly flops: number;
  readonly bytes: number;
  readonly launches: number;
}

/** Amounts of work, by what limits them. */
export type Work = Readonly<Record<WorkKind, Amount>>;

/** What the launches of some work on a GPU state that they do. */
export async function launched(gpu: Gpu, work: () => Promise<unknown>): Promise<Work> {
  const none = () => ({ flops: 0, bytes: 0, launches: 0 });
  const counted = { products: none(), attention: none(), other: none() };
  gpu.activity.costs = ({ kind = "other", flops = 0, bytes }) => {
    const amount = counted[kind];
    amount.flops += flops;
    amount.bytes += bytes;
    amount.launches++;
  };
  try {
    await work();
  } finally {
    gpu.activity.costs = null;
  }
  return counted;
}

/** The sum of works, each so many times. */
export function sumOfWorks(...terms: readonly (readonly [times: number, Work])[]): Work {
  const amount = (kind: WorkKind): Amount => {
    const sum = (field: keyof Amount) =>
      terms.reduce((total, [times, work]) => total + times * work[kind][field], 0);
    return { flops: sum("flops"), bytes: sum("bytes"), launches: sum("launches") };
  };
  return { products: amount("products"), attention: amount("attention"), other: amount("other") };
}

/**
 * How long work takes: each kind as long as its operations or its bytes, whichever takes longer, one kind after
 * the other, and so much for every launch.
 */
export function workSeconds(rates: KernelRates, { products, attention, other }: Work): number {
  const slower = ({ flops, bytes }: Amount, rate: number) =>
    Math.max(flops / rate, bytes / rates.bandwidth);
  const launches = products.launches + attention.launches + other.launches;
  return slower(products, rates.products) + slower(attention, rates.attention) +
    other.bytes / rates.bandwidth + launches * rates.launch;
}

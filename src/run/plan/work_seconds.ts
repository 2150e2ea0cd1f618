import type { KernelRates } from "./gpu_description.ts";
import type { Amount, Work } from "./model_work.ts";

/**
 * How long work takes: each kind as long as its operations or its bytes, whichever takes longer, one kind after
 * the other, and so much for every launch.
 */
export function workSeconds(rates: KernelRates, { products, attention, ...work }: Work): number {
  const slower = ({ flops, bytes }: Amount, rate: number) =>
    Math.max(flops / rate, bytes / rates.bandwidth);
  return slower(products, rates.products) + slower(attention, rates.attention) +
    work.otherBytes / rates.bandwidth + work.launches * rates.launch;
}

import assert from "node:assert/strict";
import { PagePool } from "../../../src/engine/sampling/page_pool.ts";
import { PrefillPlan } from "../../../src/engine/sampling/prefill_plan.ts";
import { mostPagesHeld, reachesOf, reachOfLayers } from "../../../src/engine/sampling/reach.ts";
import type { Sampler } from "../../../src/engine/sampling/sampler.ts";
import { SlotState } from "../../../src/engine/sampling/slot_state.ts";
import type { Gpu } from "../../../src/gpu/gpu.ts";
import type { Tensor } from "../../../src/gpu/tensor.ts";
import { pageTokens } from "../../../src/kernels/attention/attention_shape.ts";

/** A place as the page tree has it. */
interface Place {
  readonly page: number;
  readonly reach: number;
  readonly node: { readonly places: (Place | null)[] };
}

/** What was seen while samplers were at work. */
export interface Seen {
  /** Pages that were filled with NaN when they were given back. */
  poisoned: number;
  /** By reach the most pages of one sequence between two windows of steps. */
  readonly mostHeld: number[];
}

/**
 * Runs samplers whose caches hold NaN wherever nobody has written, and again on each page that is given back. What slides
 * out of a window is given back at once, not kept for others. It is checked that no sequence holds more pages than
 * `mostPagesHeld` says.
 */
export async function onPoisonedPages(
  gpu: Gpu,
  model: Sampler["model"],
  body: () => Promise<void>,
): Promise<Seen> {
  const reaches = reachesOf(model.config);
  const reachOfLayer = reachOfLayers(model.config);
  const seen: Seen = { poisoned: 0, mostHeld: reaches.map(() => 0) };
  /** Keys and values by turns, layer by layer. */
  let cached: Tensor[] = [];
  /** Pages that were given back while passes were planned that may still read them. */
  let later: Place[] = [];
  let isPlanning = false;
  const poison = ({ page, reach }: Pick<Place, "page" | "reach">) => {
    cached.forEach((tensor, i) => {
      if (reachOfLayer[Math.floor(i / 2)] !== reach) return;
      const size = pageTokens * tensor.size / tensor.shape[0];
      gpu.write(tensor.view(page * size, [size]), new Float32Array(size).fill(NaN));
    });
    seen.poisoned++;
  };
  const pool: PagePool<Place> = PagePool.prototype;
  const { prototype: plan } = PrefillPlan;
  const { prototype: slots } = SlotState;
  const { tensor } = gpu;
  const { free, keep, take } = pool;
  const { cut, finish } = plan;
  const { place } = slots;
  const whilePlanning = <Result>(run: () => Result): Result => {
    const before = isPlanning;
    isPlanning = true;
    try {
      return run();
    } finally {
      isPlanning = before;
    }
  };
  gpu.tensor = (shape, dtype, label) => {
    const made = tensor.call(gpu, shape, dtype, label);
    if (label === "cached keys" || label === "cached values") {
      if (cached.length === 2 * model.layers.length) cached = [];
      cached.push(made);
      gpu.write(made, new Float32Array(made.size).fill(NaN));
    }
    return made;
  };
  pool.free = function (given) {
    free.call(this, given);
    if (isPlanning) later.push(given);
    else poison(given);
  };
  pool.keep = function (given, isPassed) {
    if (!isPassed) return keep.call(this, given, isPassed);
    given.node.places[given.reach] = null;
    this.free(given);
  };
  pool.take = function (forget) {
    const page: number = take.call(this, forget);
    later = later.filter((given) =>
      given.page !== page || reaches[given.reach].window !== this.reach.window
    );
    return page;
  };
  plan.cut = function () {
    whilePlanning(() => cut.call(this));
  };
  plan.finish = function () {
    return whilePlanning(() => finish.call(this));
  };
  slots.place = function (sequences, width) {
    for (const given of later.splice(0)) poison(given);
    for (const { held } of sequences) {
      held.forEach(({ first, end }, reach) => {
        const most = mostPagesHeld(reaches[reach], stepsBetweenReadbacks);
        assert.ok(end - first <= most, `${end - first} pages of reach ${reach}`);
        seen.mostHeld[reach] = Math.max(seen.mostHeld[reach], end - first);
      });
    }
    return place.call(this, sequences, width);
  };
  try {
    await body();
  } finally {
    gpu.tensor = tensor;
    Object.assign(pool, { free, keep, take });
    Object.assign(plan, { cut, finish });
    slots.place = place;
  }
  return seen;
}

/** Of all samplers on poisoned pages. */
export const stepsBetweenReadbacks = 6;

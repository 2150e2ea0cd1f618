import type { Gpu } from "../../gpu/gpu.ts";
import { gemm } from "../products/gemm.ts";
import { repeated, trialNumbers } from "./trial_numbers.ts";

/** Of a product nt. */
export interface ProductSize {
  readonly rows: number;
  readonly columns: number;
  readonly depth: number;
}

/** Rows of a policy update, and a projection of a model of half a billion numbers. */
export const productOfUpdate: ProductSize = { rows: 1024, columns: 2048, depth: 896 };

/** As long as a round of launches and the wait at its end take, that wait counts for little. */
const launches = 8;
const rounds = 7;

/** Medians of the seconds that the same product takes on each of several devices, in turns. */
export async function timesOfProduct(
  gpus: readonly Gpu[],
  size: ProductSize,
): Promise<number[]> {
  const trials = gpus.map((gpu) => prepare(gpu, size));
  try {
    const times: number[][] = gpus.map(() => []);
    // The first round compiles.
    for (let round = 0; round <= rounds; round++) {
      for (const [n, trial] of trials.entries()) {
        const start = performance.now();
        await trial.run();
        if (round > 0) times[n].push((performance.now() - start) / 1000 / launches);
      }
    }
    return times.map((all) => all.toSorted((a, b) => a - b)[Math.floor(rounds / 2)]);
  } finally {
    for (const trial of trials) trial.release();
  }
}

function prepare(gpu: Gpu, { rows, columns, depth }: ProductSize) {
  const a = gpu.tensor([rows, depth]), b = gpu.tensor([columns, depth]);
  const c = gpu.tensor([rows, columns]);
  gpu.write(a, repeated(trialNumbers(1, "f32").stored, a.hostLength));
  gpu.write(b, repeated(trialNumbers(2, "f32").stored, b.hostLength));
  return {
    async run() {
      for (let n = 0; n < launches; n++) gemm(gpu, "nt", a, b, c, { label: "timed product" });
      // A look at a few numbers is a wait for all.
      await gpu.readFloats(c.view(0, [4]));
    },
    release: () => gpu.release(a, b, c),
  };
}

import { Gpu } from "../../src/gpu/gpu.ts";
import type { EngineName } from "../../src/gpu/adapter.ts";
import { RandomStream } from "../../src/random/philox.ts";

/**
 * The engines that a file's tests run on: where what is tested depends on the engine, in these folders, both;
 * elsewhere the native one, and both with `./tango test --all-engines`.
 */
export const testedEngines: readonly EngineName[] =
  /\/tests\/(gpu|kernels|platform\/gpus)\//.test(Deno.mainModule) ||
    Deno.env.get("TANGO_TEST_ENGINES") === "all"
    ? ["native", "dawn"]
    : ["native"];

const opened = new Map<EngineName, Promise<Gpu>>();

/** The GPU of one engine, opened once per process. */
export function gpuOf(engine: EngineName): Promise<Gpu> {
  let gpu = opened.get(engine);
  if (!gpu) {
    gpu = Gpu.open(engine);
    opened.set(engine, gpu);
  }
  return gpu;
}

/** Registers one test per engine of `testedEngines`; the same body must hold on each. */
export function onEveryGpu(name: string, body: (gpu: Gpu) => Promise<void>): void {
  for (const engine of testedEngines) {
    Deno.test({
      name: `${name} [${engine}]`,
      // The device and Dawn's polling outlive a test on purpose: they are opened once per process.
      sanitizeOps: false,
      sanitizeResources: false,
      fn: async () => {
        const gpu = await gpuOf(engine);
        const before = gpu.pool.liveBytes;
        await body(gpu);
        const leaked = gpu.pool.liveBytes - before;
        if (leaked !== 0) throw new Error(`the test left ${leaked} bytes of GPU memory allocated`);
      },
    });
  }
}

/** A bound |actual - expected| <= absolute + relative * |expected|, and why it is that bound. */
export interface Tolerance {
  readonly absolute: number;
  readonly relative: number;
  readonly why: string;
}

/** @throws Error naming the worst element when any exceeds the tolerance or is not finite */
export function assertClose(
  actual: ArrayLike<number>,
  expected: ArrayLike<number>,
  tolerance: Tolerance,
): void {
  if (actual.length !== expected.length) {
    throw new Error(`length ${actual.length}, expected ${expected.length}`);
  }
  let worst = -1;
  let worstExcess = 1;
  for (let i = 0; i < expected.length; i++) {
    const bound = tolerance.absolute + tolerance.relative * Math.abs(expected[i]);
    const excess = Math.abs(actual[i] - expected[i]) / bound;
    if (!(excess <= worstExcess)) {
      worst = i;
      worstExcess = Number.isNaN(excess) ? Infinity : excess;
    }
  }
  if (worst >= 0) {
    throw new Error(
      `element ${worst}: ${actual[worst]}, expected ${expected[worst]}, ` +
        `${worstExcess.toPrecision(3)} times the bound (${tolerance.why})`,
    );
  }
}

/** Reproducible uniform numbers in [-scale, scale). */
export function randomFloats(count: number, seed: number, scale = 1): Float32Array {
  const random = new RandomStream(seed, 99);
  return Float32Array.from({ length: count }, () => (2 * random.uniform() - 1) * scale);
}

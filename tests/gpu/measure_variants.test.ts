import assert from "node:assert/strict";
import type { Gpu } from "../../src/gpu/gpu.ts";
import { measureVariants, type Trials } from "../../src/gpu/measure_variants.ts";
import { onEveryGpu } from "../kernels/harness.ts";

/** Doubles halves: after some rounds every element is 2, however many more there are. */
interface Doubling {
  readonly name: string;
  readonly rounds: number;
  /** What is wrong in the text. */
  readonly spoilt?: string;
}

const code = `
@group(0) @binding(0) var<storage, read_write> result: array<f32>;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  var x = 0.0;
  for (var i = 0u; i < $(ROUNDS)u; i++) { x = fma(x, 0.5, 1.0); }
  result[id.x] = x $SPOILT;
}`;
const lanes = 4096;

function trialsOf(variants: readonly [Doubling, ...Doubling[]]): Trials<number, Doubling> {
  return {
    operation: {
      name: "doubling",
      classOf: (size) => size > 10 ? "large" : "small",
      variantsFor: () => variants,
      flops: (size) => size,
    },
    texts: [code],
    prepare(gpu: Gpu, size) {
      const output = gpu.tensor([lanes]);
      return {
        shape: `${size}`,
        variants,
        output,
        launch({ rounds, spoilt = "" }) {
          const defines = { ROUNDS: rounds, SPOILT: spoilt };
          gpu.dispatch({ label: "doubling", code, defines }, {}, { result: output }, [lanes / 64]);
        },
        fault: ([x]) => Math.abs(x - 2) < 1e-3 ? null : `it is ${x}, expected 2`,
        release: () => gpu.release(output),
      };
    },
  };
}

/** A small and a large class of shapes. */
const classes = (variants: readonly [Doubling, ...Doubling[]]) =>
  [
    { shapeClass: "small", shape: 5, flops: 5 },
    { shapeClass: "large", shape: 50, flops: 50 },
  ].map((asked) => ({ trials: trialsOf(variants), asked }));
const slow = { name: "slow", rounds: 5000 };
const quick = { name: "quick", rounds: 40 };

onEveryGpu("measuring: the fastest is taken, classes with most work come first", async (gpu) => {
  const measured = await measureVariants(gpu, classes([slow, quick]), 20);
  assert.deepEqual(measured.map(({ shapeClass }) => shapeClass), ["large", "small"]);
  for (const { variant, variants } of measured) {
    assert.equal(variant, "quick");
    assert.ok(variants.every(({ seconds, excluded }) => seconds! > 0 && excluded === null));
  }
});

onEveryGpu("measuring: what is wrong is left out, and says why", async (gpu) => {
  const variants = [
    slow,
    { ...quick, name: "wrong", spoilt: "+ 1.0" },
    { ...quick, name: "inexact", spoilt: "+ 0.00001" },
    { ...quick, name: "broken", spoilt: "+ nothing" },
  ] as const;
  const [{ variant, variants: found }] = await measureVariants(gpu, classes(variants), 20);
  assert.equal(variant, "slow");
  const reasons = found.map(({ name, excluded }) => `${name}: ${excluded}`).join("\n");
  assert.match(reasons, /^slow: null\nwrong: it is 3, expected 2\n/);
  assert.match(reasons, /inexact: its bits are not those of slow: element 0 is 2.00001/);
  assert.match(reasons, /broken: kernel doubling does not compile: [^]*nothing/);
});

onEveryGpu(
  "measuring: a wrong first variant gives way, and none that is right is a failure",
  async (gpu) => {
    const wrong = { ...quick, name: "wrong", spoilt: "+ 1.0" };
    const [{ variant }] = await measureVariants(gpu, classes([wrong, slow]), 20);
    assert.equal(variant, "slow");
    await assert.rejects(
      measureVariants(gpu, classes([wrong]), 20),
      /computes doubling \(large\) wrong, in every variant; wrong: it is 3, expected 2\. Update the GPU's driver/,
    );
  },
);

onEveryGpu("measuring: nothing is begun when the time is over", async (gpu) => {
  assert.deepEqual(await measureVariants(gpu, classes([slow, quick]), 0), []);
  // There is time for the first class to begin, and none to try its second variant.
  const slower = { name: "slower", rounds: 100_000 };
  assert.deepEqual(await measureVariants(gpu, classes([slower, quick]), 0.1), []);
});

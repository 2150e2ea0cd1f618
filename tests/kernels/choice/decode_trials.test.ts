import assert from "node:assert/strict";
import { Gpu } from "../../../src/gpu/gpu.ts";
import { cacheDtypes } from "../../../src/gpu/tensor.ts";
import {
  decodeOperation,
  type DecodeShape,
} from "../../../src/kernels/attention/attention_decode.ts";
import { decodeTrials } from "../../../src/kernels/choice/decode_trials.ts";
import { describedDevice } from "../../gpu/described_device.ts";
import { assertSameBits } from "../attention/attention_reference.ts";
import { runnableSplits } from "../attention/runnable.ts";
import { onEveryGpu } from "../harness.ts";

const shape = {
  heads: 4,
  kvHeads: 2,
  headDim: 16,
  slots: 3,
  maxPages: 9,
  cacheDtype: "f32" as const,
};

onEveryGpu(
  "trials of decoding: every variant stands the test, and a wrong number does not",
  async (gpu) => {
    for (const cacheDtype of cacheDtypes) await check(gpu, { ...shape, cacheDtype });
  },
);

/** Runs every variant on the trial of a shape. */
async function check(gpu: Gpu, asked: DecodeShape): Promise<void> {
  const trial = decodeTrials.prepare(gpu, asked);
  let first: Float32Array | undefined;
  for (const name of runnableSplits(gpu, asked.headDim)) {
    const variant = { name };
    gpu.clear(trial.output);
    trial.launch(variant);
    const output = await gpu.readFloats(trial.output);
    assert.equal(trial.fault(output), null, variant.name);
    assertSameBits(output, first ??= output, variant.name);
  }
  const wrong = first!.slice();
  wrong[3] += 1e-3;
  assert.match(trial.fault(wrong) ?? "", /output\[0, 0, 3\] is .*, expected/);
  trial.release();
}

Deno.test("trials of decoding: hardware has two variants for long contexts, a CPU core one", () => {
  const [cpu, narrow, hardware] = ([[true, 8], [true, 4], [false, 8]] as const).map((
    [software, lanes],
  ) => Gpu.rehearsalOf(describedDevice(software, lanes), {}));
  const names = (gpu: Gpu, slots: number, maxPages: number) =>
    decodeOperation.variantsFor(gpu.tuning, { ...shape, slots, maxPages }).map(({ name }) => name);
  assert.deepEqual(names(cpu, 3, 64), ["subgroup"]);
  assert.deepEqual(names(narrow, 3, 64), ["subgroup of 4"]);
  assert.deepEqual(names(hardware, 3, 64), ["spans", "workgroup"]);
  assert.deepEqual(names(hardware, 256, 64), ["workgroup", "spans"]);
  assert.deepEqual(names(hardware, 3, 4), ["workgroup"]);
  // What is asked for is what is measured: shapes of one class, and not all of them.
  const classes = [3, 4, 5].map((slots) => decodeOperation.classOf({ ...shape, slots }));
  assert.deepEqual([classes[0] === classes[1], classes[1] === classes[2]], [true, false]);
  assert.notEqual(decodeOperation.classOf({ ...shape, cacheDtype: "f16" }), classes[0]);
});

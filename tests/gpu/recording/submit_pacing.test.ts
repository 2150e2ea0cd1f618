/** Work is cut into submits by what it costs, which changes no bit of it. */

import assert from "node:assert/strict";
import { Gpu } from "../../../src/gpu/gpu.ts";
import { SubmitPacing } from "../../../src/gpu/recording/submit_pacing.ts";
import { backward } from "../../../src/model/decoder/backward.ts";
import { forwardForTraining } from "../../../src/model/decoder/forward.ts";
import { headBackward, headForward } from "../../../src/model/decoder/head.ts";
import { packSequences } from "../../model/pack_sequences.ts";
import { onEveryGpu, randomFloats } from "../../kernels/harness.ts";
import { tinyModel } from "../../model/tiny_model.ts";

/** A machine that moves `rate` bytes a second, and its clock in milliseconds. */
class Machine {
  now = 0;
  constructor(readonly rate: number) {}

  /** Runs launches of so many bytes each; the seconds that each submit took. */
  run(pacing: SubmitPacing, launches: number, bytes: number): number[] {
    const submits: number[] = [];
    let recorded = 0;
    const submit = () => {
      pacing.submitted(this.now);
      submits.push(recorded / this.rate);
      recorded = 0;
    };
    for (let i = 0; i < launches; i++) {
      if (!pacing.hasRoomFor({ bytes })) submit();
      pacing.record({ bytes });
      recorded += bytes;
    }
    submit();
    this.now += 1000 * submits.reduce((sum, seconds) => sum + seconds, 0);
    pacing.ran(pacing.mark, this.now);
    return submits;
  }
}

for (const rate of [2e9, 30e9, 2e12]) {
  Deno.test(`submits reach their time on a device of ${rate / 1e9} GB/s and never exceed it`, () => {
    const [machine, pacing] = [new Machine(rate), new SubmitPacing(0.1)];
    // Launches of 0.5 ms or more, as much as what a launch costs besides does not count.
    const bytes = Math.max(rate / 2000, 1e7);
    const first = machine.run(pacing, 400, bytes);
    // The first rate is that of a slow GPU; a device sixteen times slower gets submits that are as much longer.
    assert.ok(Math.max(...first) <= 0.1 * Math.max(1, 32e9 / rate) + bytes / rate);
    for (let round = 0; round < 6; round++) machine.run(pacing, 400, bytes);
    const learnt = machine.run(pacing, 2000, bytes);
    assert.ok(learnt[0] < 0.01, `the first after a wait is small: ${learnt[0]}`);
    assert.ok(Math.max(...learnt) <= 0.1, `${Math.max(...learnt)}`);
    assert.ok(Math.max(...learnt) > 0.08, `${Math.max(...learnt)}`);
  });
}

Deno.test("waiting for something else does not make submits tiny", () => {
  const pacing = new SubmitPacing(0.1);
  pacing.record({ bytes: 1000 });
  pacing.submitted(0);
  pacing.ran(pacing.mark, 60_000);
  for (let i = 0; i < 8; i++) pacing.submitted(60_000);
  pacing.record({ bytes: 5e7 });
  assert.ok(pacing.hasRoomFor({ bytes: 4e7 }));
});

Deno.test("the rate is that of what has run, whatever was sent meanwhile", () => {
  const rate = 100e9;
  const pacing = new SubmitPacing(0.1);
  const send = (bytes: number, now: number) => {
    pacing.record({ bytes });
    pacing.submitted(now);
  };
  let now = 0;
  send(rate / 2, now);
  for (let round = 0; round < 8; round++) {
    const mark = pacing.mark;
    send(rate / 2, now); // the next half second's, before the first is through
    now += 500;
    assert.equal(pacing.ran(mark, now), false);
  }
  assert.equal(pacing.ran(pacing.mark, now + 500), true);
  send(0, now + 500), send(0, now + 500); // the first ones after a wait are small
  pacing.record({ bytes: 1 });
  assert.ok(pacing.hasRoomFor({ bytes: 0.09 * rate }));
  assert.ok(!pacing.hasRoomFor({ bytes: 0.11 * rate }));
});

Deno.test("operations count where they outweigh the bytes", () => {
  const pacing = new SubmitPacing(0.1);
  assert.equal(pacing.launchesFor({ bytes: 1e6 }), 1);
  assert.equal(pacing.launchesFor({ bytes: 1e6, flops: 8 * 32e9 }), 3);
});

/** Counts a GPU's submits from now on. */
function countSubmits({ device: { queue } }: Gpu): { submits: number } {
  const counted = { submits: 0 };
  const submit = queue.submit.bind(queue);
  Object.defineProperty(queue, "submit", {
    value: (buffers: GPUCommandBuffer[]) => {
      counted.submits++;
      submit(buffers);
    },
  });
  return counted;
}

onEveryGpu("launches that state a high cost have submits of their own", async ({ info }) => {
  const gpu = await Gpu.open(info.engine);
  const counted = countSubmits(gpu);
  const code = `@group(0) @binding(0) var<storage, read_write> x: array<f32>;
    @compute @workgroup_size(1) fn main() { x[0] = x[0] + 1.0; }`;
  const x = gpu.zeros([1]);
  const count = async (cost?: { bytes: number; flops?: number }) => {
    await gpu.read(x);
    counted.submits = 0;
    for (let i = 0; i < 8; i++) gpu.dispatch({ label: "count", code }, {}, { x }, [1], cost);
    await gpu.read(x);
    return counted.submits;
  };
  assert.equal(await count(), 1);
  assert.equal(await count({ bytes: 1e12 }), 8);
  assert.equal(await count({ bytes: 0, flops: 1e14 }), 8);
  assert.deepEqual(await gpu.readFloats(x), Float32Array.of(24));
  gpu.close();
});

onEveryGpu("copies and fillings are cut into submits as launches are", async ({ info }) => {
  const gpu = await Gpu.open(info.engine, { submitSeconds: 1e-6 });
  const counted = countSubmits(gpu);
  const tensors = Array.from(
    { length: 8 },
    (_, i) => gpu.from(new Float32Array(2 ** 16).fill(i), [2 ** 16]),
  );
  const [first, ...others] = tensors;
  counted.submits = 0;
  for (const tensor of others) gpu.copy(first, tensor);
  assert.equal(counted.submits, 6, "the last is still being recorded");
  for (const tensor of tensors) gpu.clear(tensor);
  assert.equal(counted.submits, 14);
  for (const read of await gpu.readAll(tensors)) assert.ok(read.every((value) => value === 0));
  gpu.close();
});

/** Log-probs and gradients of a pass. */
async function pass(gpu: Gpu): Promise<Float32Array[]> {
  const model = tinyModel(gpu);
  const sequences = [40, 70, 90].map((length) =>
    Uint32Array.from({ length }, (_, i) => i * 7 % 64)
  );
  const results = gpu.scope(() => {
    const batch = packSequences(gpu, sequences);
    const made = forwardForTraining(model, batch);
    const head = headForward(model, made.hidden, batch.tokens, 1);
    const gradient = gpu.from(randomFloats(batch.size, 3), [batch.size]);
    const dHidden = headBackward(
      model,
      made.hidden,
      batch.tokens,
      1,
      head,
      gradient,
      gradient,
      null,
    );
    Array.from(backward(model, batch, made, dHidden, null));
    return [head.logProbs, head.entropy];
  }, (kept) => kept);
  const arrays = await gpu.readAll([...results, ...model.trainable?.gradients ?? []]);
  gpu.release(...results);
  model.release();
  return arrays as Float32Array[];
}

onEveryGpu("a submit for every launch and products cut by rows change no bit", async (gpu) => {
  const whole = await pass(gpu);
  const hurried = await Gpu.open(gpu.info.engine, { submitSeconds: 1e-9 });
  assert.ok(hurried.launchesFor({ bytes: 1e6 }) > 200);
  const cut = await pass(hurried);
  hurried.close();
  assert.equal(cut.length, whole.length);
  cut.forEach((array, i) => assert.deepEqual(array, whole[i]));
  assert.ok(whole.every((array) => array.some((value) => value !== 0)));
});

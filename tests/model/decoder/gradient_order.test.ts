import assert from "node:assert/strict";
import { backward } from "../../../src/model/decoder/backward.ts";
import { forwardForTraining } from "../../../src/model/decoder/forward.ts";
import { END, wholeAt } from "../../../src/model/decoder/gradient_order.ts";
import { headBackward, headForward } from "../../../src/model/decoder/head.ts";
import { cutIntoSlices, sliceOf } from "../../../src/model/decoder/slices.ts";
import { kinds, withTraining } from "../../engine/training/small_training.ts";
import { onEveryGpu, randomFloats } from "../../kernels/harness.ts";
import { packSequences } from "../pack_sequences.ts";

for (const [name, kind] of Object.entries(kinds)) {
  onEveryGpu(`a gradient that is called whole changes no more: ${name}`, async (gpu) => {
    const training = { microBatchTokens: 60, shards: 1 };
    await withTraining(gpu, kind, training, async ({ model, optimizer: { gradients } }) => {
      const slices = cutIntoSlices(gradients.map(({ size }) => size), 8);
      const at = wholeAt(model, slices);
      assert.deepEqual([...at.keys()], slices);
      const { layers } = model.config;
      const found = new Set(at.values());
      // A small adapter is one slice.
      assert.ok(
        (found.size > 1 || kind.lora) &&
          [...found].every((layer) => END <= layer && layer <= layers),
      );
      const read = () => gpu.readAll(slices.map((slice) => sliceOf(gradients, slice)));
      const steps = gpu.steps();
      const pass = steps.run(() => {
        const batch = packSequences(gpu, [Uint32Array.from({ length: 30 }, (_, i) => i * 7 % 32)]);
        const made = forwardForTraining(model, batch);
        const head = headForward(model, made.hidden, batch.tokens, 1);
        const random = gpu.from(randomFloats(batch.size, 3), [batch.size]);
        const dHidden = headBackward(
          model,
          made.hidden,
          batch.tokens,
          1,
          head,
          random,
          random,
          null,
        );
        return backward(model, batch, made, dHidden, null);
      });
      const after = new Map<number, Awaited<ReturnType<typeof read>>>();
      for (;;) {
        const { done, value } = steps.run(() => pass.next());
        if (done) break;
        after.set(value, await read());
      }
      steps[Symbol.dispose]();
      const end = await read();
      assert.ok(end.every((values) => values.some((value) => value !== 0)));
      assert.equal(after.size, layers);
      for (const [layer, then] of after) {
        slices.forEach((slice, i) => {
          if ((at.get(slice) ?? END) >= layer) assert.deepEqual(then[i], end[i]);
        });
      }
    });
  });
}
